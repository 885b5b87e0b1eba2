import type { TracedEvent } from '../files/traced-event.ts'
import type { CallKind, ModelUsage } from './describe-event.ts'

/** Tokens of a model's answer; readers that know prices and models say more. */
export type CallUsage = ModelUsage & { readonly cost?: number | null; readonly context_window?: number | null }

/** Event that a call tree is built from, with or without its payload. */
export type TraceStep = Pick<
  TracedEvent,
  | 'event_type'
  | 'module_id'
  | 'method_name'
  | 'time'
  | 'agent_id'
  | 'run_id'
  | 'call_id'
  | 'caller_id'
  | 'parent_call_id'
  | 'duration_ms'
> & {
  readonly kind: CallKind
  /** Of the call that began a run of another agent: the call around it. */
  readonly parent_run_call_id?: string | null
  /** Of a call: see `labelOf`. */
  readonly label?: string | null
  /** Of an exception: see `errorOf`. */
  readonly error?: string | null
  /** Of an exception: the run was stopped; nothing is wrong with the call. */
  readonly is_aborted?: boolean
  /** Of a result: the call ended because its run waits. */
  readonly is_waiting?: boolean
  /** Of the result of a guard: see `verdictOf`. */
  readonly verdict?: string | null
  /** Of a model's result. */
  readonly usage?: CallUsage | null
  /** Equal for events that say the same; only where runs are compared. */
  readonly digest?: string | null
}

/** One call of one module by another, from its events. */
export interface Call {
  readonly id: string
  /** Null where the reader is not told. */
  readonly runId: string | null
  readonly agentId: string
  readonly moduleId: string
  /** Caller and module among the participants of the tree. */
  from: string
  readonly to: string
  readonly method: string
  readonly kind: CallKind
  /** As a person says it, `lookupOrder(42)`; undefined where the method says it all. */
  readonly label: string | undefined
  /** Unix seconds. */
  readonly startedAt: number
  /** Number of its first event in the run. */
  readonly index: number
  depth: number
  parent: Call | undefined
  readonly children: Call[]
  /** Digest of its arguments. */
  readonly asks: string | undefined
  status: 'running' | 'done' | 'waiting' | 'failed' | 'cancelled'
  /** Messages of its exception and of the causes; undefined where none was thrown, or the reader is not told. */
  error: string | undefined
  /** Unix seconds; undefined while it runs, as are the two below. */
  endedAt: number | undefined
  durationMs: number | undefined
  endIndex: number | undefined
  usage: CallUsage | undefined
  /** Verdict of a guard; undefined where it let the text pass. */
  verdict: string | undefined
  /** Digest of what came of it. */
  gives: string | undefined
}

/** Method of a call with the tool's name: `executeTool lookupOrder(42)`. */
export function nameMethod({ method, label }: Pick<Call, 'method' | 'label'>): string {
  if (label === undefined) return method
  return label.startsWith(`${method}(`) ? label : `${method} ${label}`
}

/** The calls of a run, and of the runs below it. This also runs in browsers. */
export class CallTree {
  /** In the order in which they began. */
  readonly calls: Call[] = []
  readonly roots: Call[] = []
  /**
   * All that call or are called, in the order of first use: `agent:<id>` and module ids, those of an agent that another called as
   * `<agent>/<module id>`.
   */
  readonly participants: string[] = []
  readonly #byId = new Map<string, Call>()
  /** Calls of agents whose caller is not known yet, by its call: of two files, either may be read first. */
  readonly #orphans = new Map<string, Call[]>()
  #events = 0

  /** Number of events added. */
  get size(): number {
    return this.#events
  }

  get(id: string): Call | undefined {
    return this.#byId.get(id)
  }

  /** Adds the next event of the run. */
  add(step: TraceStep): void {
    const index = this.#events++
    if (step.event_type === 'call') this.#begin(step, index)
    else this.#end(step, index)
  }

  #begin(step: TraceStep, index: number): void {
    const parentId = step.parent_call_id ?? step.parent_run_call_id ?? undefined
    const parent = parentId === undefined ? undefined : this.#byId.get(parentId)
    const isChild = step.agent_id !== (this.calls[0]?.agentId ?? step.agent_id)
    const nameOf = (id: string) => (isChild && !id.startsWith('agent:') ? `${step.agent_id}/${id}` : id)
    const call: Call = {
      id: step.call_id,
      runId: step.run_id,
      agentId: step.agent_id,
      moduleId: step.module_id,
      // The module through which an agent was called stands for its caller.
      from: (step.parent_call_id === null ? parent?.to : undefined) ?? nameOf(step.caller_id),
      to: nameOf(step.module_id),
      method: step.method_name,
      kind: step.kind,
      label: step.label ?? undefined,
      startedAt: step.time,
      index,
      depth: parent ? parent.depth + 1 : 0,
      parent,
      children: [],
      asks: step.digest ?? undefined,
      status: 'running',
      error: undefined,
      endedAt: undefined,
      durationMs: undefined,
      endIndex: undefined,
      usage: undefined,
      verdict: undefined,
      gives: undefined,
    }
    this.#byId.set(call.id, call)
    this.calls.push(call)
    if (parent) parent.children.push(call)
    else this.roots.push(call)
    if (step.parent_run_call_id && !parent) {
      this.#orphans.set(step.parent_run_call_id, [...(this.#orphans.get(step.parent_run_call_id) ?? []), call])
    }
    for (const orphan of this.#orphans.get(call.id) ?? []) this.#adopt(orphan, call)
    for (const name of [call.from, call.to]) if (!this.participants.includes(name)) this.participants.push(name)
  }

  #adopt(orphan: Call, parent: Call): void {
    // Files may say that a call is below itself.
    for (let above: Call | undefined = parent; above; above = above.parent) if (above === orphan) return
    this.roots.splice(this.roots.indexOf(orphan), 1)
    this.#orphans.delete(parent.id)
    orphan.parent = parent
    orphan.from = parent.to
    parent.children.push(orphan)
    deepen(orphan, parent.depth + 1)
  }

  #end(step: TraceStep, index: number): void {
    // Its beginning may have been lost, and the end of the run ends no call.
    const call = this.#byId.get(step.call_id)
    if (!call) return
    call.status = statusOf(step)
    call.error = step.error ?? undefined
    call.usage = step.usage ?? undefined
    call.verdict = step.verdict ?? undefined
    call.gives = step.digest ?? undefined
    call.endedAt = step.time
    call.durationMs = step.duration_ms ?? (step.time - call.startedAt) * 1000
    call.endIndex = index
  }
}

function deepen(call: Call, depth: number): void {
  call.depth = depth
  for (const child of call.children) deepen(child, depth + 1)
}

function statusOf({ event_type, is_waiting, is_aborted }: TraceStep): Call['status'] {
  if (event_type === 'result') return is_waiting ? 'waiting' : 'done'
  return is_aborted ? 'cancelled' : 'failed'
}
