import { expect } from 'chai'
import { readInput } from '../../../modules/orchestrator/lib/react-step.ts'
import { withoutFence } from '../../../src/server/adapters/mcp/tools/tool-result.ts'

/** Time that a function takes, in milliseconds. */
function timeOf(work: () => unknown): number {
  const startedMs = performance.now()
  work()
  return performance.now() - startedMs
}

describe("code fences around a model's JSON", () => {
  it('are removed from an answer, with or without a language', () => {
    expect(withoutFence('```json\n{"a":1}\n```')).to.equal('{"a":1}')
    expect(withoutFence(' \n``` \n{"a":1}\n\n``` \n')).to.equal('{"a":1}\n')
    expect(withoutFence('```ts\n{}\n```')).to.equal('```ts\n{}\n```')
    expect(withoutFence('```')).to.equal('```')
    expect(withoutFence('{"a":1}')).to.equal('{"a":1}')
  })

  it('take linear time, however hostile the text', () => {
    const hostile = `\`\`\`json${'\n'.repeat(100_000)}x`
    expect(timeOf(() => withoutFence(hostile))).to.be.below(200)
    const spaces = `\`\`\`${' '.repeat(100_000)}x`
    const tool = { name: 'a', description: '', parameters: { type: 'object', properties: { a: {} } } } as const
    expect(timeOf(() => readInput(spaces, tool))).to.be.below(200)
  })
})
