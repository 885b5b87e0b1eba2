import { expect } from 'chai'
import { cleanJson, cleanText, cleanToDecide } from '../../src/wire/clean-text.ts'

describe('a text that people read', () => {
  const shown = [
    ['\u001b[31mred', '\\u001b[31mred'],
    ['a\u202eb', 'a\\u202eb'],
    ['\u009b2J\u007f', '\\u009b2J\\u007f'],
    ['one\ntwo\tthree', 'one\ntwo\tthree'],
    ['C:\\users\\back', 'C:\\users\\back'],
  ] as const

  it('has its control characters and changes of direction escaped', () => {
    for (const [text, clean] of shown) expect(cleanText(text)).to.equal(clean)
  })

  it('shows what nobody sees where a person decides, but for what emoji and other scripts need', () => {
    for (const [text, clean] of [
      ['pay\u200bpal', 'pay\\u200bpal'],
      ['a\u00adb\u2028c\ufe0f', 'a\\u00adb\\u2028c\\ufe0f'],
      ['x\u{e0061}\u202e', 'x\\udb40\\udc61\\u202e'],
      ['\u2764\ufe0f \u0646\u200c\u0647', '\u2764\ufe0f \u0646\u200c\u0647'],
      ['\u2764\ufe01\ufe02', '\u2764\ufe01\\ufe02'],
      ['jos\u00e9\u200b@x', 'jos\u00e9\\u200b@x'],
      ...[
        '1\ufe0f\u20e3 #\ufe0f\u20e3',
        '\u2764\ufe0f\u200d\u{1f525}',
        '\u{1f3f3}\ufe0f\u200d\u{1f308}',
        '\u0e01\u200b\u0e02',
      ].map((text) => [text, text]),
    ])
      expect(cleanToDecide(text ?? '')).to.equal(clean)
  })

  it('may be within JSON', () => {
    for (const [text, clean] of shown)
      expect(JSON.parse(cleanJson(JSON.stringify({ text })))).to.deep.equal({ text: clean })
    expect(JSON.parse(cleanJson(JSON.stringify('a\r\b\\r')))).to.equal('a\\r\\b\\r')
  })
})
