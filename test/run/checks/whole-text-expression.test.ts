import { expect } from 'chai'
import { wholeTextExpression } from '../../../src/run/checks/whole-text-expression.ts'

describe('wholeTextExpression', () => {
  for (const [pattern, matching, other] of [
    [String.raw`\d+\+\d+`, '1+2', '1+2 '],
    [String.raw`(?P<day>\d{1,2})(?:st|nd)?\s+(?P<year>\d{4})`, '1st 2026', '1st'],
    ['(?i)yes', 'YES', 'YESS'],
    ['(?s)a.b', 'a\nb', 'a\nc'],
    [String.raw`\Aa\-b\"c\z`, 'a-b"c', 'ab'],
    [String.raw`[a\-c\]]+`, 'a-c]', 'b'],
    [String.raw`\(\?P<x`, '(?P<x', '(?<x'],
    [String.raw`\\\_\ \p{L}`, String.raw`\_ ä`, '_'],
    ['^a|b$', 'b', 'ab'],
  ] as const) {
    it(`matches a whole text: ${pattern}`, () => {
      const expression = wholeTextExpression(pattern)
      expect([expression.test(matching), expression.test(other)]).to.deep.equal([true, false])
    })
  }

  it('refuses what JavaScript does not have', () => {
    for (const pattern of ['(', '(?x) a', '(?ii)a', '(?P=day)', 'a++']) {
      expect(() => wholeTextExpression(pattern), pattern).to.throw(SyntaxError)
    }
  })
})
