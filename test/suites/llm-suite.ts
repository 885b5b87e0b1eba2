import type { LLM, LLMPart, LLMRequest } from 'agent-host'
import { expect } from 'chai'
import { makeRun, says } from '../support/fake-run.ts'

/** Every part of an answer. */
export async function collect(llm: LLM, request: LLMRequest, run = makeRun()): Promise<LLMPart[]> {
  const parts: LLMPart[] = []
  for await (const part of llm.generate(request, run)) parts.push(part)
  return parts
}

export function textOf(parts: readonly LLMPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** What every provider of `LLM` promises. The model that is made answers anything with at least two words. */
export function describeLLM(makeLLM: () => LLM | Promise<LLM>): void {
  describe('as an LLM', () => {
    it('streams its answer, and ends with exactly one finish', async () => {
      const parts = await collect(await makeLLM(), { messages: [says('hello')] })
      expect(parts.filter(({ type }) => type === 'text').length).to.be.above(1)
      expect(parts.filter(({ type }) => type === 'finish')).to.deep.equal([{ type: 'finish', reason: 'stop' }])
      expect(parts.at(-1)?.type).to.equal('finish')
    })

    it('answers many requests at once', async () => {
      const llm = await makeLLM()
      const answers = await Promise.all([1, 2, 3].map(() => collect(llm, { messages: [says('hello')] })))
      for (const parts of answers) expect(textOf(parts)).to.equal(textOf(answers[0] ?? []))
    })

    it('ends with the reason of an aborted run', async () => {
      const run = makeRun()
      run.abort(new Error('enough'))
      const failure = await collect(await makeLLM(), { messages: [says('hello')] }, run).catch((error: Error) => error)
      expect(failure).to.have.property('message', 'enough')
    })

    it('ends with the reason when the run is aborted mid-answer', async () => {
      const run = makeRun()
      const read = async (llm: LLM) => {
        for await (const _ of llm.generate({ messages: [says('hello')] }, run)) run.abort(new Error('enough'))
      }
      expect(await read(await makeLLM()).catch((error: Error) => error.message)).to.equal('enough')
    })

    it('stops when its reader stops early', async () => {
      const llm = await makeLLM()
      for await (const part of llm.generate({ messages: [says('hello')] }, makeRun())) {
        expect(part.type).to.be.oneOf(['text', 'reasoning'])
        break
      }
      expect(textOf(await collect(llm, { messages: [says('hello')] }))).not.to.equal('')
    })
  })
}
