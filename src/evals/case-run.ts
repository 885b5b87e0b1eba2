import { HostError, messageOf } from '../errors.ts'
import type { RunEvent } from '../run/run-event.ts'
import type { PendingCall } from '../run/waiting/pending-call.ts'
import type { Traces } from '../trace/traces.ts'
import type { EvalRun, EvalToolCall } from '../wire/eval-result.ts'

/** Run of a case before it is scored, with the version of its agent. */
export interface CaseRun extends Omit<EvalRun, 'case' | 'column' | 'repeat' | 'scores' | 'score'> {
  /** As scorers get it. */
  readonly input: unknown
  readonly agentVersion: string | null
}

/** Traces of the runs of cases: with the case, by which lists and metrics leave them out. */
export type CaseTraces = Pick<Traces, 'record' | 'recordEnd'>

/** A run that could not begin. */
export function notRun(input: unknown, error: unknown): CaseRun {
  return {
    input,
    agentVersion: null,
    run_id: null,
    status: 'not_run',
    output: '',
    error: describeError(error),
    tools: [],
    is_played: false,
    duration_ms: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost: 0,
  }
}

/** Message of an error, with what can be done about it. */
export function describeError(error: unknown): string {
  return [messageOf(error), ...(error instanceof HostError ? error.suggestions : [])].join('\n')
}

/** Collects text and calls of tools from the events of a run. */
export class RunNotes {
  text = ''
  readonly #calls = new Map<string, EvalToolCall>()
  readonly #pending = new Map<string, EvalToolCall>()

  readonly onEvent = (event: RunEvent): void => {
    if (event.type === 'text') this.text += event.text
    if (event.type === 'tool_call') this.#add(event.call.id, event.call)
    if (event.type === 'pending') this.addPending([event.pending])
  }

  /** Adds calls that the run waits for: the agent has asked for them. */
  addPending(pending: readonly PendingCall[]): void {
    for (const call of pending) {
      const { callId, name, arguments: args, kind } = call
      this.#pending.set(callId, { name, arguments: args })
      if (kind !== 'question') this.#add(callId, call)
    }
  }

  get tools(): EvalToolCall[] {
    return [...this.#calls.values()]
  }

  /** Calls that a run waits for at its end. */
  waitsOf(pending: readonly Pick<PendingCall, 'name'>[]): { readonly waits?: EvalToolCall[] } {
    const waits = [...this.#pending.values()].filter((call) => pending.some(({ name }) => name === call.name))
    return waits.length === 0 ? {} : { waits }
  }

  #add(id: string, { name, arguments: args }: Pick<PendingCall, 'name' | 'arguments'>): void {
    this.#calls.set(id, { name, arguments: args })
  }
}
