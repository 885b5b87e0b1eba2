import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import type { CallKind } from '../../../src/trace/calls/describe-event.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { formatCost, formatCount, formatTokens, participantName } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { describeWaiting, type RunSummary } from '../types.ts'
import { type CallPayload, useCallPayload } from './call-payload.ts'
import { ExceptionView } from './exception-view.tsx'
import { AnyCall } from './kinds/any-call.tsx'
import { MemoryCall } from './kinds/memory-call.tsx'
import { ModelCall, ModelCallActions } from './kinds/model-call.tsx'
import { readExchange } from './kinds/model-exchange.ts'
import { ToolCall } from './kinds/tool-call.tsx'
import { RerunPanel } from './rerun-panel.tsx'
import { OwnRun } from './trace-row.tsx'
import { nameCall } from './trace-rows.ts'
import { useTape } from './use-tape.ts'

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
  /** Offers to run a run with a tape again from this call. */
  readonly mayRerun: boolean
  readonly onClose: () => void
}

/** Everything about one call, in the way that suits its kind. */
export function CallPanel({ run, call, mayRerun, onClose }: CallPanelProps) {
  const own = runOf(call, run)
  const { payload, error } = useCallPayload(own.run_id, call)
  const [isRerunning, setRerunning] = useState(false)
  useEffect(() => setRerunning(false), [call.id])
  useShortcuts({ Escape: isRerunning ? () => setRerunning(false) : onClose })
  const isOffered = useTape(own) && mayRerun && isRecorded(call)
  const Kind = KINDS[call.kind] ?? AnyCall
  return (
    <aside class="panel side call-panel" aria-label="Selected call" tabIndex={0}>
      <div class={`panel-head kind-${call.kind}`}>
        <Icon name={`kind-${call.kind}` as IconName} />
        <h2>{nameCall(call).name}</h2>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
      </div>
      <Facts run={run} call={call} payload={payload ?? undefined} />
      {error && <Notice kind="bad" title={error} />}
      {payload && (
        <div class="actions">
          {isOffered && !isRerunning && (
            <button type="button" class="button" onClick={() => setRerunning(true)}>
              <Icon name="go" />
              <span>Rerun from here</span>
            </button>
          )}
          {call.kind === 'model' && <ModelCallActions run={own} call={call} payload={payload} />}
        </div>
      )}
      {isOffered && payload && isRerunning && (
        <RerunPanel key={call.id} run={own} call={call} payload={payload} onClose={() => setRerunning(false)} />
      )}
      {payload?.foldedException != null && (
        <ExceptionView
          text={payload.foldedException}
          whole={payload.exception ?? ''}
          title={call.status === 'failed' ? 'Exception' : 'Stopped'}
          isBad={call.status === 'failed'}
        />
      )}
      {payload && <Kind run={own} call={call} payload={payload} />}
      {payload === null && <Notice kind="warn" title="The trace of this call is gone: its file was rotated away." />}
    </aside>
  )
}

/** Run of a call: that of the page, or that of an agent that was called in it. */
function runOf({ runId, agentId }: Call, run: RunSummary): RunSummary {
  if (runId === null || runId === run.run_id) return run
  return { ...run, run_id: runId, agent_id: agentId, entry_point: '__entry__' }
}

/** Methods whose calls are on a tape, and worth doing otherwise. */
const RERUN_METHODS: ReadonlySet<string> = new Set(['generate', 'executeTool', 'search', 'list'])

function isRecorded({ kind, method, status }: Call): boolean {
  const isKind = kind === 'model' || kind === 'tool' || kind === 'memory'
  return isKind && RERUN_METHODS.has(method) && status !== 'waiting'
}

interface FactsProps {
  readonly run: RunSummary
  readonly call: Call
  readonly payload: CallPayload | undefined
}

function Facts({ run, call, payload }: FactsProps) {
  const { status, durationMs, startedAt, from, to, method } = call
  return (
    <p class="facts dotted muted">
      <span>
        {participantName(from)} → {participantName(to)}.{method}
      </span>
      {status !== 'done' && <span class={status === 'failed' ? 'bad-text' : ''}>{stateOf(run, status)}</span>}
      <span>{formatDuration(durationMs)}</span>
      {call.kind === 'model' && <ModelFacts usage={call.usage} payload={payload} isDone={status === 'done'} />}
      <span>after {formatDuration((startedAt - run.started_at) * 1000)}</span>
      {payload && <code>{payload.reference}</code>}
      <OwnRun call={call} />
    </p>
  )
}

interface ModelFactsProps {
  readonly usage: Call['usage']
  readonly payload: CallPayload | undefined
  readonly isDone: boolean
}

function ModelFacts({ usage, payload, isDone }: ModelFactsProps) {
  const finish = payload && readExchange(payload.args[0], payload.result)?.finish
  const tokens = usage ? formatTokens(usage) : ''
  return (
    <>
      {tokens && <span>{tokens} tokens</span>}
      {usage && usage.cached_input_tokens > 0 && <span>{formatCount(usage.cached_input_tokens)} cached</span>}
      {usage && usage.reasoning_tokens > 0 && <span>{formatCount(usage.reasoning_tokens)} reasoning</span>}
      {tokens === '' && isDone && <span>no tokens counted</span>}
      {usage?.cost != null && <span>{formatCost(usage.cost)}</span>}
      {finish && <span>finish: {finish}</span>}
    </>
  )
}

function stateOf(run: RunSummary, status: Call['status']): string {
  if (status === 'waiting') return describeWaiting(run.status)
  return status === 'cancelled' ? 'stopped' : status
}
