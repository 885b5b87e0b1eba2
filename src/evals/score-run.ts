import { onAbort, raceAbort, withDeadline } from '../async.ts'
import { messageOf } from '../errors.ts'
import { isObject } from '../json.ts'
import type { EvalScore } from '../wire/eval-result.ts'
import type { NamedScorer } from './load-scorers.ts'
import type { ScorerArguments } from './scorer.ts'

/** Time that a scorer gets. */
const SCORER_TIMEOUT_MS = 30_000
/** Of what a scorer tells beside a score. */
const MAX_METADATA_CHARS = 20_000

/** Has every scorer judge a run. One that throws, answers with no score or takes too long hurts its own score alone. */
export function scoreRun(
  scorers: readonly NamedScorer[],
  given: Omit<ScorerArguments, 'signal'>,
  signal: AbortSignal,
  timeoutMs = SCORER_TIMEOUT_MS,
): Promise<EvalScore[]> {
  return Promise.all(
    scorers.map(async ([name, scorer]) => {
      const own = new AbortController()
      const forget = onAbort(signal, () => own.abort(signal.reason))
      try {
        const judging = Promise.resolve({ ...given, signal: own.signal }).then(scorer)
        const late = () => new Error(`It did not answer within ${timeoutMs / 1000} s.`)
        return { name, ...readScore(await withDeadline(raceAbort(judging, own.signal), timeoutMs, late)) }
      } catch (error) {
        return { name, score: null, error: messageOf(error) }
      } finally {
        forget()
        // One that goes on beyond its time is not heard any more.
        own.abort()
      }
    }),
  )
}

/** @throws Error for what is no score */
function readScore(answer: unknown): Omit<EvalScore, 'name'> {
  if (answer === null) return { score: null }
  if (!isObject(answer)) throw notAScore(answer)
  const { score, metadata, error } = answer
  // `autoevals` answers with an error beside the score.
  if (error != null) throw error
  if (score !== null && !(typeof score === 'number' && score >= 0 && score <= 1)) throw notAScore(score)
  return { score, ...readMetadata(metadata) }
}

function notAScore(answer: unknown): Error {
  // JSON has neither NaN nor large whole numbers.
  const shown = ['number', 'bigint'].includes(typeof answer) ? String(answer) : (JSON.stringify(answer) ?? 'nothing')
  return new Error(
    `It returned ${shown.slice(0, 100)}. A scorer returns { name, score } with a score from 0 to 1, or null.`,
  )
}

/** Metadata as JSON. Any other, and too much, is left out: a result file must stay readable. */
function readMetadata(metadata: unknown): Pick<EvalScore, 'metadata'> {
  if (!isObject(metadata)) return {}
  try {
    const text = JSON.stringify(metadata)
    if (text.length > MAX_METADATA_CHARS) return { metadata: { left_out: `${text.length} characters` } }
    const value: unknown = JSON.parse(text)
    return { metadata: isObject(value) ? value : { left_out: 'It is no object as JSON.' } }
  } catch (error) {
    return { metadata: { left_out: messageOf(error) } }
  }
}
