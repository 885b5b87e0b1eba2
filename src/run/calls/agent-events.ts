import { causesOf, messageOf } from '../../errors.ts'
import { FUNCTION, requireGiven, TEXT } from '../../given.ts'
import type { Log } from '../../protocols/log.ts'
import type { TracedChange } from '../../wire/variant.ts'

/**
 * One step of an agent: a call that crossed from one module to another, or its end. Every `call` has exactly one
 * `result` or `exception` with the same `call_id`. Fields are named as traces and GraphQL name them.
 */
export interface AgentEvent {
  readonly agent_id: string
  /** `<module reference>.<module_class>.<method_name>.<event_type>` */
  readonly event_name: string
  readonly event_type: 'call' | 'result' | 'exception'
  readonly module_id: string
  readonly module_class: string
  readonly method_name: string
  /** Name of the protocol that the method belongs to; null for the `create` of a module that failed to load. */
  readonly protocol: string | null
  /** Model that is asked, as far as its module names it; null for the call of anything else, and of a module that asks other models. */
  readonly model: CalledModel | null
  /** Id of the tool call of the conversation that is executed; null for any other call, and for those that the code of a tool makes. */
  readonly tool_call_id: string | null
  /** Unix time in seconds, with fractions. */
  readonly time: number
  readonly call_id: string
  /** `agent:<id>` for the call of an entry point, otherwise the id of the calling module. */
  readonly caller_id: string
  /** Of a call. Live values: listeners that keep them must copy them. A run is `{ run: <id> }`. */
  readonly arguments: { readonly args: readonly unknown[] } | null
  /** Of a result; the parts of a stream, as an array. */
  readonly result: unknown
  /** Of an exception: message and stack. */
  readonly exception: string | null
  readonly run_id: string | null
  /** Of the run; '' for one that belongs to no tenant, and outside of a run. */
  readonly tenant: string
  /** The user that the client of the run names; null where it names none, and outside of a run. */
  readonly user: string | null
  readonly parent_call_id: string | null
  readonly entry_point: string | null
  /** Version of the agent, see `AgentInfo`; null outside of a run. */
  readonly agent_version: string | null
  /** Values by which the agent of the run differs from the registered one; null for a run of that one itself. */
  readonly variant: readonly TracedChange[] | null
  /** Id of the waiting run that this run continues; null for any other. */
  readonly continues: string | null
  /** Name of the conversation that the run is a turn of; null for the first turn of one without an id, and where none is known. */
  readonly conversation: string | null
  /** Trace context of the request for the run; null without one. */
  readonly origin: RunOrigin | null
  /** Run that this one replays up to one of its calls; null for any other. */
  readonly replays: ReplayOrigin | null
  /** Id of the run that began this one; null for a run that a client began. */
  readonly parent_run_id: string | null
  /** Call of that run that began it. */
  readonly parent_run_call_id: string | null
  /** Of a closing event. */
  readonly duration_ms: number | null
}

/** Trace context of the request for a run. */
export interface RunOrigin {
  /** https://www.w3.org/TR/trace-context/#traceparent-header */
  readonly traceparent: string
  /** True for a run in the background: its caller does not wait for it. */
  readonly background: boolean
}

/** Call of a run from which another goes its own way. */
export interface ReplayOrigin {
  readonly run_id: string
  /** Number of the call on its tape, from 1 on: the ones before come from there. */
  readonly from_call: number
}

/** Model of a call, as events name it. */
export interface CalledModel {
  readonly name: string | null
  readonly provider: string | null
}

/** Receives the events of calls between modules. */
export type AgentEventListener = (event: AgentEvent) => void

/** Listeners to events, with the names that they listen for. */
export class EventListeners {
  readonly #log: Log
  #listeners: readonly { prefix: string; listener: AgentEventListener }[] = []

  constructor(log: Log) {
    this.#log = log
  }

  get isEmpty(): boolean {
    return this.#listeners.length === 0
  }

  /** @returns a function that takes the listener away again */
  add(listener: AgentEventListener, prefix: string): () => void {
    requireGiven(FUNCTION, listener, 'listener')
    requireGiven(TEXT, prefix, 'prefix')
    const entry = { prefix, listener }
    this.#listeners = [...this.#listeners, entry]
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== entry)
    }
  }

  /** A listener that throws is reported, and disturbs neither the run nor the other listeners. */
  emit(event: AgentEvent): void {
    for (const { prefix, listener } of this.#listeners) {
      if (event.event_name.startsWith(prefix)) this.#tell(listener, event)
    }
  }

  #tell(listener: AgentEventListener, event: AgentEvent): void {
    try {
      listener(event)
    } catch (error) {
      this.#log.error(`A listener for events failed on ${event.event_name}: ${messageOf(error)}`)
    }
  }
}

export type EventSink = Pick<EventListeners, 'isEmpty' | 'emit'>

/** Message and stack of anything that was thrown, with its causes. */
export function describeException(thrown: unknown): string {
  return causesOf(thrown).map(describeAlone).join('\nCaused by: ') || messageOf(thrown)
}

function describeAlone(thrown: unknown): string {
  if (!(thrown instanceof Error)) return messageOf(thrown)
  const { name, message, stack } = thrown
  return stack?.includes(message) ? stack : `${name}: ${message}\n${stack}`
}

/** An error without its name, where the message says it all. */
export function withoutPlainName(exception: string): string {
  return exception.replace(/^(Error|ModelLimited): /, '')
}
