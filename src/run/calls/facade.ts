import { isPromise } from '../../async.ts'
import { AgentRun } from '../agent-run.ts'
import { waitingResultOf } from '../waiting/waits-for.ts'
import { type AgentEvent, type CalledModel, describeException, type EventSink } from './agent-events.ts'
import { isAsyncIterable, type StreamTap, tapStream } from './stream-tap.ts'

/** A module as events name it. */
export interface Callee {
  readonly moduleId: string
  readonly moduleClass: string
  readonly reference: string
  /** Model behind this facade. */
  readonly model?: CalledModel
}

/** Caller of a method. `openCalls` are the calls that the caller is itself within, oldest first. */
export interface Caller {
  readonly id: string
  readonly openCalls: readonly string[]
}

/** Recorder of the calls of one run, or of the instances shared by all runs of an agent. */
export interface Recorder {
  readonly agentId: string
  readonly run: AgentRun | undefined
  readonly events: EventSink
  nextCallId(): string
}

type Method = (...args: unknown[]) => unknown

/**
 * One protocol of one module for one caller: a plain object with exactly the protocol's methods, optional ones where they are there, each of which emits
 * `call`, and then `result` or `exception`. Without listeners it only hands the call on.
 *
 * @param openCalls the callee's own, kept in step with the calls that are under way
 */
export function makeFacade(
  target: object,
  { name: protocol, methods }: { name: string; methods: readonly string[] },
  callee: Callee,
  openCalls: string[],
  caller: Caller,
  recorder: Recorder,
): object {
  const facade: Record<string, Method> = {}
  for (const name of methods) {
    const method = (target as Record<string, Method | undefined>)[name]
    if (!method) continue
    facade[name] = (...args) => {
      if (recorder.events.isEmpty || isLook(args.at(-1))) return method.apply(target, args)
      return observe(
        method,
        target,
        args,
        new ObservedCall({ protocol, name }, args, callee, openCalls, caller, recorder),
      )
    }
  }
  return facade
}

/** Tells whether a call is part of a look: facades that all runs share are called for looks, too. */
function isLook(run: unknown): boolean {
  return run instanceof AgentRun && run.isLook
}

/** Tells of a module that could not be made, as of a call of its `create` that failed: a run would end without a trace. */
export function recordFailedCreate(callee: Callee, recorder: Recorder, error: unknown): void {
  if (recorder.events.isEmpty) return
  const caller = { id: `agent:${recorder.agentId}`, openCalls: [] }
  new ObservedCall({ protocol: null, name: 'create' }, [], callee, [], caller, recorder).fail(error)
}

/** The three shapes of a result: a promise, a stream, a plain value. */
function observe(method: Method, target: object, args: unknown[], call: ObservedCall): unknown {
  let result: unknown
  try {
    result = method.apply(target, call.handRunOn(args))
  } catch (error) {
    call.fail(error)
    throw error
  }
  if (isAsyncIterable(result)) return tapStream(result, new ObservedStream(call))
  if (isPromise(result)) return observePromise(result, call)
  call.finish(result)
  return result
}

async function observePromise(promise: PromiseLike<unknown>, call: ObservedCall): Promise<unknown> {
  try {
    const result = await promise
    if (isAsyncIterable(result)) return tapStream(result, new ObservedStream(call))
    call.finish(result)
    return result
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/** Parts of a stream that its closing event shows; a trace cuts longer values anyway. */
const MAX_SHOWN_PARTS = 2000

/** The stream that a call gave: its end is the end of the call, and at the latest the end of the run. */
class ObservedStream implements StreamTap {
  readonly #call: ObservedCall
  readonly #shown: unknown[] = []
  readonly #forget: (() => void) | undefined
  #omitted = 0

  constructor(call: ObservedCall) {
    this.#call = call
    this.#forget = call.run?.abort.trackStream(() => this.end())
  }

  part(value: unknown): void {
    if (this.#shown.length < MAX_SHOWN_PARTS) this.#shown.push(value)
    else this.#omitted++
  }

  end(): void {
    this.#forget?.()
    this.#call.finish(this.#omitted === 0 ? this.#shown : [...this.#shown, { omitted: this.#omitted }])
  }

  fail(error: unknown): void {
    this.#forget?.()
    this.#call.fail(error)
  }
}

class ObservedCall {
  readonly #id: string
  readonly #method: { readonly protocol: string | null; readonly name: string }
  readonly #callee: Callee
  readonly #openCalls: string[]
  readonly #callerId: string
  readonly #parentCallId: string | null
  readonly #recorder: Recorder
  /** Undefined for a call outside any run. */
  readonly run: AgentRun | undefined
  /** The run as the caller handed it over. */
  readonly #given: AgentRun | undefined
  readonly #startedMs: number
  #open = true

  constructor(
    method: { readonly protocol: string | null; readonly name: string },
    args: readonly unknown[],
    callee: Callee,
    openCalls: string[],
    caller: Caller,
    recorder: Recorder,
  ) {
    const last = args.at(-1)
    const given = last instanceof AgentRun ? last : undefined
    this.#id = recorder.nextCallId()
    this.#method = method
    this.#callee = callee
    this.#openCalls = openCalls
    this.#callerId = caller.id
    // The passed run knows its call. A method without a run was called from the newest open one.
    this.#parentCallId = given?.callId ?? caller.openCalls.at(-1) ?? null
    this.#recorder = recorder
    this.run = recorder.run ?? given
    this.#given = given ?? recorder.run
    this.#startedMs = performance.now()
    openCalls.push(this.#id)
    this.#emit('call', { arguments: { args: args.map(nameRun) } })
  }

  /** The arguments, with the run seen from within this call. */
  handRunOn(args: unknown[]): unknown[] {
    const last = args.at(-1)
    return last instanceof AgentRun ? [...args.slice(0, -1), last.within(this.#id)] : args
  }

  finish(result: unknown): void {
    this.#close('result', { result: result ?? null })
  }

  /** Closes the call with an error; a call that ends because its run waits has not failed. */
  fail(error: unknown): void {
    const waiting = this.#given && waitingResultOf(error, this.#given)
    if (waiting) this.#close('result', { result: waiting })
    else this.#close('exception', { exception: describeException(error) })
  }

  #close(type: 'result' | 'exception', outcome: Partial<AgentEvent>): void {
    if (!this.#open) return
    this.#open = false
    this.#openCalls.splice(this.#openCalls.indexOf(this.#id), 1)
    this.#emit(type, { duration_ms: performance.now() - this.#startedMs, ...outcome })
  }

  /** The code of a tool makes calls of its own. */
  get #toolCallId(): string | null {
    const { isInTool, toolCallId } = this.#given ?? {}
    return isInTool ? null : (toolCallId ?? null)
  }

  #emit(type: AgentEvent['event_type'], outcome: Partial<AgentEvent>): void {
    const { moduleId, moduleClass, reference, model = null } = this.#callee
    const { protocol, name } = this.#method
    this.#recorder.events.emit({
      agent_id: this.#recorder.agentId,
      event_name: `${reference}.${moduleClass}.${name}.${type}`,
      event_type: type,
      module_id: moduleId,
      module_class: moduleClass,
      method_name: name,
      protocol,
      model,
      tool_call_id: this.#toolCallId,
      time: (performance.timeOrigin + performance.now()) / 1000,
      call_id: this.#id,
      caller_id: this.#callerId,
      arguments: null,
      result: null,
      exception: null,
      run_id: this.run?.id ?? null,
      tenant: this.run?.tenant ?? '',
      user: this.run?.user ?? null,
      parent_call_id: this.#parentCallId,
      entry_point: this.run?.entryPoint ?? null,
      agent_version: this.run?.agentVersion ?? null,
      variant: this.run?.variant ?? null,
      continues: this.run?.waiting.follows ?? null,
      conversation: this.run?.conversation ?? null,
      origin: this.run?.origin ?? null,
      replays: this.run?.replays ?? null,
      parent_run_id: this.run?.parent?.runId ?? null,
      parent_run_call_id: this.run?.parent?.callId ?? null,
      duration_ms: null,
      ...outcome,
    })
  }
}

function nameRun(argument: unknown): unknown {
  return argument instanceof AgentRun ? argument.toJSON() : argument
}
