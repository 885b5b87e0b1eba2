import { expect } from 'chai'
import { cleanJson, cleanText } from '../../src/wire/clean-text.ts'

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

  it('may be within JSON', () => {
    for (const [text, clean] of shown)
      expect(JSON.parse(cleanJson(JSON.stringify({ text })))).to.deep.equal({ text: clean })
    expect(JSON.parse(cleanJson(JSON.stringify('a\r\b\\r')))).to.equal('a\\r\\b\\r')
  })
})
