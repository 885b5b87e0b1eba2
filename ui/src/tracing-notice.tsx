import { Notice } from './components/notice.tsx'
import { plural } from './format.ts'
import type { ServerInfo } from './types.ts'

/** Notice that traces are off, incomplete or still being read. */
export function TracingNotice({ tracing }: { tracing: ServerInfo['tracing'] | undefined }) {
  if (!tracing) return null
  if (!tracing.is_on) {
    return (
      <Notice kind="warn" title="Nothing is traced">
        Runs and metrics stay empty: start the server with <code>agent-host dev</code> or <code>--debug-ui true</code>.
      </Notice>
    )
  }
  if (tracing.dropped > 0) {
    return (
      <Notice kind="warn" title={`${plural(tracing.dropped, 'event')} lost`}>
        {tracing.problem ?? 'They came faster than they could be written.'}
      </Notice>
    )
  }
  if (tracing.missing_bytes < 4e6) return null
  return (
    <Notice kind="info" title="Older traces are being read">
      {Math.round(tracing.missing_bytes / 1e6)} MB to go; runs appear as they are found.
    </Notice>
  )
}
