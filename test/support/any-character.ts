import fc from 'fast-check'

const [below, above] = [fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff })]

/**
 * Any character of Unicode, as a unit of texts. The same characters as fast-check's own unit `binary`, which takes more than a second
 * to set up.
 */
export const anyCharacter = fc.oneof(below, above).map((code) => String.fromCodePoint(code))
