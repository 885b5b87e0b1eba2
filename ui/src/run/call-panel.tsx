import type { ComponentType } from 'preact'
import type { Call } from '../../../src/trace/call-tree.ts'
import type { CallKind } from '../../../src/trace/describe-event.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { formatDuration, participantName } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { describeWaiting, type RunSummary } from '../types.ts'
import { type CallPayload, useCallPayload } from './call-payload.ts'
import { ExceptionView } from './exception-view.tsx'
import { AnyCall } from './kinds/any-call.tsx'
import { MemoryCall } from './kinds/memory-call.tsx'
import { ModelCall } from './kinds/model-call.tsx'
import { ToolCall } from './kinds/tool-call.tsx'
import { nameCall } from './trace-rows.ts'

/** Props of the panel for calls of one kind. */
export interface CallKindProps {
  readonly run: RunSummary
  readonly call: Call
  readonly payload: CallPayload
}

const KINDS: Readonly<Partial<Record<CallKind, ComponentType<CallKindProps>>>> = {
  model: ModelCall,
  tool: ToolCall,
  memory: MemoryCall,
}

interface CallPanelProps {
  readonly run: RunSummary
  readonly call: Call
  readonly onClose: () => void
}

/** Everything about one call, in the way that suits its kind. */
export function CallPanel({ run, call, onClose }: CallPanelProps) {
  const { payload, error } = useCallPayload(run.run_id, call)
  useShortcuts({ Escape: onClose })
  // A call that waits has no result of its kind.
  const Kind = (call.status !== 'waiting' && KINDS[call.kind]) || AnyCall
  return (
    <aside class="panel side" aria-label="Selected call">
      <div class={`panel-head kind-${call.kind}`}>
        <Icon name={`kind-${call.kind}` as IconName} />
        <h2>{nameCall(call).name}</h2>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
      </div>
      <Facts run={run} call={call} reference={payload?.reference} />
      {error && <Notice kind="bad" title={error} />}
      {payload?.foldedException != null && (
        <ExceptionView
          text={payload.foldedException}
          whole={payload.exception ?? ''}
          title={call.status === 'failed' ? 'Exception' : 'Stopped'}
          isBad={call.status === 'failed'}
        />
      )}
      {payload && <Kind run={run} call={call} payload={payload} />}
      {payload === null && <Notice kind="warn" title="The trace of this call is gone: its file was rotated away." />}
    </aside>
  )
}

function Facts({ run, call, reference }: { run: RunSummary; call: Call; reference: string | undefined }) {
  const { status, durationMs, startedAt, callerId, moduleId, method } = call
  return (
    <p class="facts muted">
      <span class={status === 'failed' ? 'bad-text' : ''}>{stateOf(run, status)}</span>
      <span>{formatDuration(durationMs)}</span>
      <span>after {formatDuration((startedAt - run.started_at) * 1000)}</span>
      <span>
        {participantName(callerId)} → {participantName(moduleId)}.{method}
      </span>
      {reference && <code>{reference}</code>}
    </p>
  )
}

function stateOf(run: RunSummary, status: Call['status']): string {
  if (status === 'waiting') return describeWaiting(run.status)
  return status === 'cancelled' ? 'stopped' : status
}
