import { type MemoryItem, MemoryList } from '../../components/memory-list.tsx'
import type { CallPayload } from '../call-payload.ts'
import { AnyCall } from './any-call.tsx'

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
      {result.length === 0 ? <p class="muted">Nothing.</p> : <MemoryList items={result} />}
    </>
  )
}

function isMatch(value: unknown): value is MemoryItem {
  const { text, score } = (value ?? {}) as Partial<MemoryItem>
  return typeof text === 'string' && typeof score === 'number'
}
