import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'

/** Stops any run. */
export function StopButton({ runId }: { runId: string }) {
  const [error, setError] = useState('')
  const stop = () =>
    ask('mutation($id: String!) { stop_run(run_id: $id) }', { id: runId }).catch((failure: Error) =>
      setError(failure.message),
    )
  if (error) return <Notice kind="warn" title={error} />
  return (
    <button type="button" class="button" onClick={stop}>
      <Icon name="stop" />
      <span>Stop</span>
    </button>
  )
}
