import { expect } from 'chai'
import { nameChanges } from '../../src/wire/describe-change.ts'

describe('the name of a variant', () => {
  const prompt = (before: unknown, value: unknown) => ({ module: 'loop', path: ['system_prompt'], before, value })
  const model = { module: 'llm', path: ['model'], before: 'gpt-5', value: 'gpt-5-mini' }
  const NAMES: readonly (readonly [object, string])[] = [
    [prompt('Be kind.', 'Be kind. Be brief.'), 'system_prompt: +Be brief.'],
    [prompt('Be kind. Be brief.', 'Be kind.'), 'system_prompt: −Be brief.'],
    [prompt('Be kind to all.', 'Be rude\nto all.'), 'system_prompt: kind → rude'],
    [prompt('Be kind.', ''), 'system_prompt: Be kind. → ""'],
    [prompt(undefined, 'Be brief.'), 'system_prompt: Be brief.'],
    [prompt('Be kind.', undefined), 'system_prompt: Be kind. → default'],
    [model, 'llm.model: gpt-5 → gpt-5-mini'],
    [{ module: 'llm', path: ['limits', 0, 'of'], before: 1, value: true }, 'llm.limits[0].of: 1 → true'],
    [{ ...prompt('a', 'b'), agent: 'billing' }, 'billing.loop.system_prompt: a → b'],
    [
      prompt('a', `b ${'word '.repeat(40)}`),
      'system_prompt: a → b word word word word word word word word word word wor…',
    ],
  ]
  for (const [change, name] of NAMES) {
    it(`says what differs: ${name}`, () => expect(nameChanges([change as typeof model])).equal(name))
  }

  it('joins several, and names the modules of values that are called alike', () => {
    const both = [prompt('a', 'b'), { ...prompt('a', 'c'), module: 'judge' }, model]
    expect(nameChanges(both as (typeof model)[])).equal(
      'loop.system_prompt: a → b, judge.system_prompt: a → c, llm.model: gpt-5 → gpt-5-mini',
    )
  })
})
