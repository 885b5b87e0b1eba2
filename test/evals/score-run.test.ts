import type { Scorer } from 'agent-host'
import { expect } from 'chai'
import { scoreRun } from '../../src/evals/score-run.ts'
import { scorerArguments } from '../support/scorer-arguments.ts'

const GIVEN = scorerArguments()

describe('scoreRun', () => {
  it('ends a scorer that never answers, and tells it; the others are not held up', async () => {
    let signal: AbortSignal | undefined
    const never: Scorer = (given) => {
      signal = given.signal
      return new Promise(() => {})
    }
    const good: Scorer = () => ({ name: 'good', score: 0.5 })
    const scores = await scoreRun(
      [
        ['never', never],
        ['good', good],
      ],
      GIVEN,
      new AbortController().signal,
      20,
    )
    expect(scores).deep.equal([
      { name: 'never', score: null, error: 'It did not answer within 0.02 s.' },
      { name: 'good', score: 0.5 },
    ])
    expect(signal?.aborted).equal(true)
  })

  it('takes the error that a scorer answers with, and leaves out metadata that is no JSON', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const failed: Scorer = () => ({ name: 'failed', score: 0, error: new Error('no key') }) as never
    const odd: Scorer = () => ({ name: 'odd', score: 1, metadata: circular })
    const text: Scorer = () => ({ name: 'text', score: 1, metadata: new Date(0) as never })
    const none: Scorer = () => ({ name: 'none', score: Number.NaN })
    const [first, second, third, fourth] = await scoreRun(
      [
        ['failed', failed],
        ['odd', odd],
        ['text', text],
        ['none', none],
      ],
      GIVEN,
      new AbortController().signal,
    )
    expect(first).deep.equal({ name: 'failed', score: null, error: 'no key' })
    for (const score of [second, third]) expect(score?.metadata).have.keys('left_out')
    expect(fourth?.error).match(/^It returned NaN\./)
  })
})
