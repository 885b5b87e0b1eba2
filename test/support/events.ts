import type { AgentEvent, RunEnd } from 'agent-host'
import type { Traces } from '../../src/trace/traces.ts'

/** The events of a made-up run, one call after the other or nested: `[module id, method, children]`. */
export function eventOf(facts: Partial<AgentEvent> & Pick<AgentEvent, 'event_type' | 'call_id'>): AgentEvent {
  const { agent_id = 'echo', module_id = 'main', module_class = 'Main', method_name = 'handleText' } = facts
  return {
    agent_id,
    event_name: `${module_id}.${module_class}.${method_name}.${facts.event_type}`,
    module_id,
    module_class,
    method_name,
    protocol: PROTOCOLS[method_name] ?? null,
    time: 1_700_000_000,
    caller_id: facts.parent_call_id == null ? `agent:${agent_id}` : 'main',
    arguments: null,
    result: null,
    exception: null,
    run_id: 'run-1',
    parent_call_id: null,
    entry_point: '__entry__',
    duration_ms: null,
    ...facts,
  } as AgentEvent
}

const PROTOCOLS: Readonly<Record<string, string>> = {
  handleText: 'TextMessageHandler',
  respondText: 'Response',
  executeTool: 'ToolProvider',
  generate: 'LLM',
}

/** A run of an agent that says what it is told: four events. */
export function echoRun(runId: string, text: string, time = 1_700_000_000, agentId = 'echo'): AgentEvent[] {
  const own = { agent_id: agentId, run_id: runId }
  const outer = { ...own, call_id: `${runId}.1` }
  const respond = { module_id: '__response__', module_class: 'Response', method_name: 'respondText' }
  const inner = { ...own, ...respond, call_id: `${runId}.2`, parent_call_id: `${runId}.1` }
  return [
    eventOf({ ...outer, event_type: 'call', time, arguments: { args: [text, { run: runId }] } }),
    eventOf({ ...inner, event_type: 'call', time: time + 0.25, arguments: { args: [text] } }),
    eventOf({ ...inner, event_type: 'result', time: time + 0.25, duration_ms: 0.5 }),
    eventOf({ ...outer, event_type: 'result', time: time + 0.5, duration_ms: 500 }),
  ]
}

/** The end of such a run. */
export function endOf(runId: string, facts: Partial<RunEnd> = {}): RunEnd {
  return {
    runId,
    agentId: 'echo',
    tenant: '',
    parentRunId: undefined,
    entryPoint: '__entry__',
    startedAt: 1_700_000_000,
    durationMs: 500,
    status: 'completed',
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
    text: '',
    attachments: [],
    firstTextMs: undefined,
    incompleteReason: undefined,
    pending: [],
    ...facts,
  }
}

/** Records events of a run, then its end. */
export function recordRun(
  traces: Pick<Traces, 'record' | 'recordEnd'>,
  events: readonly AgentEvent[],
  facts: Partial<RunEnd> = {},
): void {
  for (const event of events) traces.record(event)
  const [{ run_id: runId, agent_id: agentId, time: startedAt }] = events as [AgentEvent]
  traces.recordEnd(endOf(runId ?? '', { agentId, startedAt, ...facts }))
}

/** A run of an agent that says what it is told, to its end. */
export function recordEcho(
  traces: Pick<Traces, 'record' | 'recordEnd'>,
  ...[runId, text, ...rest]: Parameters<typeof echoRun>
): void {
  recordRun(traces, echoRun(runId, text, ...rest), { text, firstTextMs: 250 })
}
