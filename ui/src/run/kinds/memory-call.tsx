import { JsonTree } from '../../components/json-tree.tsx'
import type { CallPayload } from '../call-payload.ts'
import { AnyCall } from './any-call.tsx'

interface Match {
  readonly text: string
  readonly score: number
  readonly metadata?: unknown
}

/** Question and hits of a search in a memory, with their scores; other calls as trees. */
export function MemoryCall({ payload }: { payload: CallPayload }) {
  const { args, result } = payload
  const [question] = args
  if (typeof question !== 'string' || !Array.isArray(result) || !result.every(isMatch)) {
    return <AnyCall payload={payload} />
  }
  return (
    <>
      <h3>Question</h3>
      <p class="quote">{question}</p>
      <h3>Found</h3>
      {result.length === 0 && <p class="muted">Nothing.</p>}
      <ol class="matches">
        {result.map(({ text, score, metadata }, index) => (
          <li key={index}>
            <meter min={0} max={1} value={score} aria-label="Score" />
            <b class="figure-text">{score.toFixed(3)}</b>
            <p>{text}</p>
            {hasFields(metadata) && <JsonTree value={metadata} label="metadata" />}
          </li>
        ))}
      </ol>
    </>
  )
}

function isMatch(value: unknown): value is Match {
  const { text, score } = (value ?? {}) as Partial<Match>
  return typeof text === 'string' && typeof score === 'number'
}

function hasFields(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
