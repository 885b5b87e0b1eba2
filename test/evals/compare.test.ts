import { expect } from 'chai'
import { compareResults, describeConfidence } from '../../src/evals/compare.ts'
import type { EvalResult } from '../../src/wire/eval-result.ts'
import { evalResult, evalRun } from '../support/eval-results.ts'

/** A result with a score for each case. */
function makeResult(scores: readonly number[], { name = 'a', changes = 0 } = {}): EvalResult {
  const runs = scores.map((score, index) => evalRun(`c${index}`, { scores: [{ name: 's', score }], score }))
  const columns = [{ name, agent: 'a', version: null, changes: Array(changes).fill({ module: 'm', path: ['p'] }) }]
  return evalResult(runs, { columns })
}

const compare = (before: readonly number[], after: readonly number[]) => {
  const [comparison] = compareResults(makeResult(before), makeResult(after))
  if (!comparison) throw new Error('Nothing was compared.')
  return comparison
}

describe('compareResults', () => {
  it('counts wins, losses and ties, and names cases that passed and fail now', () => {
    const { wins, losses, ties, regressions, difference } = compare([1, 1, 0, 0.9], [1, 0.4, 1, 0.8])
    expect({ wins, losses, ties, regressions, difference: difference?.toFixed(3) }).deep.equal({
      wins: [{ caseId: 'c2', before: 0, after: 1 }],
      losses: [
        { caseId: 'c1', before: 1, after: 0.4 },
        { caseId: 'c3', before: 0.9, after: 0.8 },
      ],
      ties: 1,
      regressions: [{ caseId: 'c1', before: 1, after: 0.4 }],
      difference: '0.075',
    })
  })

  it('says in words whether a difference may be noise', () => {
    const half = Array.from({ length: 40 }, (_, index) => index % 2)
    const better = half.map((score, index) => (index < 20 ? 1 : score))
    expect(describeConfidence(compare(half, better))).match(/^This is more than noise\. .* from \+0\.\d\d to \+0\.\d\d/)
    const one = half.map((score, index) => (index === 0 ? 1 : score))
    expect(describeConfidence(compare(half, one))).match(/^This may be noise\. .* from \+0\.00 to \+0\.\d\d/)
    expect(describeConfidence(compare(half, half))).equal('Every case has the same score.')
    expect(describeConfidence(compare([0], [1]))).equal('One case says nothing about others: this may be noise.')
    expect(describeConfidence(compare([], []))).equal('No case is in both results: nothing can be compared.')
  })

  it('gives the same interval each time, with the difference within it', () => {
    const before = Array.from({ length: 50 }, (_, index) => (index % 10) / 10)
    const after = before.map((score, index) => Math.min(1, score + (index % 3) / 10))
    const { interval, difference } = compare(before, after)
    expect(compare(before, after).interval).deep.equal(interval)
    expect(interval?.[0]).below(difference ?? 0)
    expect(interval?.[1]).above(difference ?? 0)
  })

  it('a variant is compared with its like, otherwise with the agent as it was', () => {
    const before = makeResult([1])
    const after = makeResult([0], { name: 'a (m.p=1)', changes: 1 })
    expect(compareResults(before, after)[0]).include({ before: 'a', after: 'a (m.p=1)' })
    expect(compareResults(makeResult([1], { name: 'b' }), makeResult([1]))).length(1)
  })

  it('names cases that only one has, and those whose row has changed', () => {
    const before = makeResult([1, 1])
    const after = makeResult([1, 1, 1])
    const changed = { ...after, cases: after.cases.map((row, index) => (index === 1 ? { ...row, digest: 'e' } : row)) }
    expect(compareResults(before, changed)[0]).deep.include({ added: ['c2'], removed: [], changed: ['c1'] })
    expect(compareResults(after, before)[0]).deep.include({ removed: ['c2'] })
  })
})
