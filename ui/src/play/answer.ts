import { useEffect, useState } from 'preact/hooks'
import { type ResponseEvent, readEvents } from '../responses/responses-client.ts'

/** An answer as far as it is known. */
export interface RunningAnswer {
  readonly text: string
  /** Pictures as data URLs. */
  readonly pictures: readonly string[]
  readonly status: 'running' | 'completed' | 'failed' | 'cancelled'
  readonly error: string
}

const BEGUN: RunningAnswer = { text: '', pictures: [], status: 'running', error: '' }
const ENDS: Readonly<Record<string, RunningAnswer['status']>> = {
  'response.completed': 'completed',
  'response.incomplete': 'completed',
  'response.failed': 'failed',
  'response.cancelled': 'cancelled',
}
/** Before a stream that was cut off is joined again. */
const RETRY_MS = 1000

/** Follows an answer from its beginning, however far it is. To leave is without effect on the run. */
export function useAnswer(responseId: string): RunningAnswer {
  const [answer, setAnswer] = useState(BEGUN)
  useEffect(() => {
    const leave = new AbortController()
    setAnswer(BEGUN)
    void followAnswer(responseId, leave.signal, setAnswer)
    return () => leave.abort()
  }, [responseId])
  return answer
}

async function followAnswer(id: string, signal: AbortSignal, onChange: (answer: RunningAnswer) => void): Promise<void> {
  let answer = BEGUN
  let after = 0
  while (!signal.aborted && answer.status === 'running') {
    try {
      for await (const event of readEvents(id, after, signal)) {
        after = event.sequence_number
        answer = addEvent(answer, event)
        onChange(answer)
      }
    } catch (error) {
      if (signal.aborted) return
      // A lost network comes back; a rejected request would be rejected again.
      if (!(error instanceof TypeError))
        return onChange({ ...answer, status: 'failed', error: (error as Error).message })
    }
    if (answer.status === 'running') await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

function addEvent(answer: RunningAnswer, { type, delta, item, response }: ResponseEvent): RunningAnswer {
  if (type === 'response.output_text.delta') return { ...answer, text: answer.text + (delta ?? '') }
  if (type === 'response.output_item.done' && item?.type === 'image_generation_call') {
    return { ...answer, pictures: [...answer.pictures, `data:image/png;base64,${item.result ?? ''}`] }
  }
  const status = ENDS[type]
  return status ? { ...answer, status, error: response?.error?.message ?? '' } : answer
}
