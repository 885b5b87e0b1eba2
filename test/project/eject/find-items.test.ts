import { HostError } from 'agent-host'
import { expect } from 'chai'
import { findItems } from '../../../src/project/eject/find-items.ts'

const KNOWN = ['echo', 'embedder/local', 'llm/auto', 'llm/openai-compatible', 'tools/local', 'tools/mcp']

function refusal(...names: string[]): readonly string[] {
  try {
    findItems(names, KNOWN, 'in the library')
  } catch (error) {
    if (error instanceof HostError) return [error.code, error.message, ...error.suggestions]
  }
  throw new Error('They were found.')
}

describe('findItems', () => {
  for (const [name, found] of [
    ['llm/auto', ['llm/auto']],
    ['llm.auto', ['llm/auto']],
    ['auto', ['llm/auto']],
    ['llm', ['llm/auto', 'llm/openai-compatible']],
    ['echo', ['echo']],
  ] as const) {
    it(`'${name}' is ${found.join(' and ')}`, () => {
      expect(findItems([name], KNOWN, '')).to.deep.equal(found)
    })
  }

  it('finds each item once, in the order of the names', () => {
    expect(findItems(['mcp', 'llm.auto', 'tools'], KNOWN, '')).to.deep.equal(['tools/mcp', 'llm/auto', 'tools/local'])
  })

  it('does not choose between packages', () => {
    expect(refusal('local')).to.deep.equal([
      'MODULE_NOT_FOUND',
      "'local' may be 'embedder/local' or 'tools/local'.",
      'Write it with its package. Nothing was changed.',
    ])
  })

  const MORE = '`agent-host eject list` lists them. Nothing was changed.'
  for (const [name, meant] of [
    ['llm/atuo', 'llm/auto'],
    ['llm.atuo', 'llm.auto'],
    ['tolos', 'tools'],
    ['mpc', 'mcp'],
    ['openai', 'llm/openai-compatible'],
    ['llm.openai', 'llm/openai-compatible'],
  ] as const) {
    it(`suggests '${meant}' for '${name}'`, () => {
      expect(refusal(name)).to.deep.equal([
        'MODULE_NOT_FOUND',
        `There is no module '${name}' in the library.`,
        `Did you mean '${meant}'?`,
        MORE,
      ])
    })
  }

  it('lists every unknown name', () => {
    expect(refusal('llm/atuo', 'echo', 'llm/', '')).to.deep.equal([
      'MODULE_NOT_FOUND',
      "There are no modules 'llm/atuo', 'llm/' and '' in the library.",
      "Did you mean 'llm/auto'?",
      "Did you mean 'llm'?",
      MORE,
    ])
  })
})
