import { isPromise } from '../../async.ts'
import { messageOf } from '../../errors.ts'
import { getOrAdd } from '../../get-or-add.ts'
import { fieldsOf } from '../../json.ts'
import type { LLM } from '../../protocols/llm.ts'
import { AgentRun } from '../../run/agent-run.ts'
import type { Place } from '../../run/calls/boundaries.ts'
import { isAsyncIterable, isGenerator, type StreamTap, tapStream } from '../../run/calls/stream-tap.ts'
import type { RunResult, Turn } from '../../run/turn.ts'
import { toolCallOf } from '../../run/waiting/pending-call.ts'
import { waitingResultOf } from '../../run/waiting/waits-for.ts'
import type { Method } from '../boundary.ts'
import type { CallLine, EffectLine, EndLine, OutcomeLine, PartLine, ResultShape, TapeLine } from '../file/tape-lines.ts'
import { encodeError, encodeToWrite, type JsonValue } from '../file/tape-values.ts'

/** Takes the lines of one run, in their order. */
export interface LineSink {
  add(line: TapeLine): void
  /** The last line. */
  end(line: EndLine): void
}

/** Method that a call gives to its run, with the number of the call: views of the run keep it. */
interface MarkWithin {
  (reason: string): void
  withinCall?: number
}

/** Records one run: its turn, its calls across boundaries, and its end. */
export class RunRecorder {
  readonly #run: AgentRun
  readonly #sink: LineSink
  readonly #startedMs = performance.now()
  readonly #kept = new Set<string>()
  /** Open calls of each boundary, for calls that pass no run. */
  readonly #open = new Map<string, number[]>()
  /** Made once: a run has many calls. */
  readonly #tape: CallTape
  #calls = 0
  #isOver = false

  constructor(run: AgentRun, turn: Turn, sink: LineSink) {
    this.#run = run
    this.#sink = sink
    this.#tape = {
      ms: () => this.#ms(),
      encode: (value) => this.#encode(value),
      encodeError: (error) => encodeError(error, this.#keep),
      add: (line) => this.#add(line),
      close: (call, moduleId) => this.#close(call, moduleId),
    }
    const { runId: _id, tenant: _tenant, onEvent: _sink, overrides = {}, ...said } = turn
    this.#add({
      type: 'turn',
      run_id: run.id,
      tenant: run.tenant,
      entry_point: run.entryPoint,
      started_at: (performance.timeOrigin + this.#startedMs) / 1000,
      continues: run.waiting.continues,
      turn: this.#encode(said),
      overrides: Object.keys(overrides),
    })
  }

  /** Calls a method of a provider, and records what comes of it. */
  call(provider: object, method: Method, name: string, args: readonly unknown[], place: Place): unknown {
    const given = args.at(-1)
    const run = given instanceof AgentRun ? given : undefined
    const call = this.#begin(name, run ? args.slice(0, -1) : args, place, run, provider)
    let result: unknown
    try {
      result = method.apply(provider, run ? [...args.slice(0, -1), call.view(run)] : [...args])
    } catch (error) {
      call.fail(error, 'value')
      throw error
    }
    if (isGenerator(result) || isAsyncIterable(result)) return tapStream(result, call)
    if (isPromise(result)) return settle(result, call)
    call.finish(result, 'value')
    return result
  }

  /** Records that a call needs an approval, or that nobody can tell: those that need none are most, and a call that no tape has needs none. */
  async noteNeed(ask: () => unknown, args: readonly unknown[], place: Place): Promise<unknown> {
    const last = args.at(-1)
    const run = last instanceof AgentRun ? last : undefined
    const begin = () => this.#begin('needsApproval', run ? args.slice(0, -1) : args, place, run, {})
    try {
      const answer = await ask()
      if (answer) begin().finish(answer, 'promise')
      return answer
    } catch (error) {
      begin().fail(error, 'promise')
      throw error
    }
  }

  /** Records the end of the run. */
  succeed({ status, text, incompleteReason }: RunResult): void {
    this.#end(status, text, incompleteReason, undefined)
  }

  fail(error: unknown): void {
    const isAborted = fieldsOf(error).code === 'RUN_ABORTED'
    this.#end(isAborted ? 'cancelled' : 'failed', this.#run.answer.sentText, undefined, error)
  }

  #begin(
    method: string,
    args: readonly unknown[],
    place: Place,
    run: AgentRun | undefined,
    provider: object,
  ): RecordedCall {
    const { moduleId, callerId, protocol } = place
    const within = this.#callerOf(run, callerId)
    const number = ++this.#calls
    getOrAdd(this.#open, moduleId, () => []).push(number)
    const model = protocol.name === 'LLM' ? (provider as LLM).modelInfo : undefined
    const line: CallLine = {
      type: 'call',
      call: number,
      within,
      ms: this.#ms(),
      module: moduleId,
      caller: callerId,
      protocol: protocol.name,
      method,
      arguments: args.map((arg) => this.#encode(arg)),
      ...(model === undefined ? {} : { model: this.#encode(model) }),
    }
    this.#add(line)
    return new RecordedCall(number, moduleId, run ?? this.#run, this.#tape)
  }

  #close(call: number, moduleId: string): void {
    const open = this.#open.get(moduleId)
    open?.splice(open.indexOf(call), 1)
  }

  #callerOf(run: AgentRun | undefined, callerId: string): number | null {
    const mark: MarkWithin | undefined = run?.own.markIncomplete
    return mark?.withinCall ?? this.#open.get(callerId)?.at(-1) ?? null
  }

  #end(
    status: RunResult['status'] | 'failed' | 'cancelled',
    text: string,
    reason: string | undefined,
    error: unknown,
  ): void {
    const { answer, waiting } = this.#run
    const pending = status === 'waiting' ? waiting.pending : []
    const line: TapeLine = {
      type: 'end',
      ms: this.#ms(),
      status,
      text,
      attachments: answer.attachments.map((attachment) => this.#encode(attachment)),
      usage: answer.usage,
      reason: reason ?? null,
      error: error === undefined ? null : messageOf(error),
      pending: pending.map(({ kind, name }) => ({ kind, name })),
      ...(pending.length > 0 ? { pendingArguments: pending.map((call) => this.#encode(call.arguments)) } : {}),
      calls: this.#calls,
      incomplete: null,
    }
    this.#isOver = true
    this.#sink.end(line)
  }

  /** Code that goes on after the end of its run is no part of it. */
  #add(line: TapeLine): void {
    if (!this.#isOver) this.#sink.add(line)
  }

  #ms(): number {
    return Math.round((performance.now() - this.#startedMs) * 10) / 10
  }

  #encode(value: unknown): JsonValue {
    return encodeToWrite(value, this.#keep)
  }

  readonly #keep = (sha256: string, bytes: Uint8Array): void => {
    if (this.#kept.has(sha256)) return
    this.#kept.add(sha256)
    this.#add({
      type: 'bytes',
      sha256,
      base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    })
  }
}

async function settle(promise: PromiseLike<unknown>, call: RecordedCall): Promise<unknown> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    call.fail(error, 'promise')
    throw error
  }
  if (isAsyncIterable(result)) return tapStream(result, call)
  call.finish(result, 'promise')
  return result
}

/** The tape of a run, for its calls. */
interface CallTape {
  /** Time since the run began. */
  ms(): number
  encode(value: unknown): JsonValue
  encodeError(error: unknown): JsonValue
  add(line: PartLine | EffectLine | OutcomeLine): void
  close(call: number, moduleId: string): void
}

/** A call under way; as a tap it records the parts of its stream. */
class RecordedCall implements StreamTap {
  readonly #call: number
  readonly #moduleId: string
  readonly #run: AgentRun
  readonly #tape: CallTape
  #isOpen = true

  constructor(call: number, moduleId: string, run: AgentRun, tape: CallTape) {
    this.#call = call
    this.#moduleId = moduleId
    this.#run = run
    this.#tape = tape
  }

  /** The run as the callee gets it: what it does to the run is recorded, too. */
  view(run: AgentRun): AgentRun {
    const markIncomplete: MarkWithin = (reason) => {
      // First, because a refused call has no effect to record.
      run.markIncomplete(reason)
      this.#note('incomplete', reason)
    }
    // A WeakMap costs more than the rest of a view.
    markIncomplete.withinCall = this.#call
    return run.with({
      markIncomplete,
      addUsage: (usage) => {
        this.#note('usage', usage)
        run.addUsage(usage)
      },
      reportProgress: (message) => {
        this.#note('progress', message)
        run.reportProgress(message)
      },
    })
  }

  part(value: unknown): void {
    this.#tape.add({ type: 'part', call: this.#call, ms: this.#tape.ms(), value: this.#tape.encode(value) })
  }

  end(): void {
    this.#close('stream', { value: null })
  }

  finish(value: unknown, shape: ResultShape): void {
    this.#close(shape, { value: this.#tape.encode(value) })
  }

  /** A call that is cut off by the abort of its run has no end. */
  fail(error: unknown, shape: ResultShape = 'stream'): void {
    const { abort, waiting, toolCallId } = this.#run
    if (abort.isRequested) {
      this.#close(shape, undefined)
      return
    }
    if (waitingResultOf(error, this.#run) === undefined) {
      this.#close(shape, { error: this.#tape.encodeError(error) })
      return
    }
    const own = waiting.pending.filter((call) => toolCallOf(call) === toolCallId)
    const waits = own.map(({ runId: _run, ...pending }) => this.#tape.encode(pending))
    this.#close(shape, { waits })
  }

  #close(shape: ResultShape, outcome: Pick<OutcomeLine, 'value' | 'error' | 'waits'> | undefined): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#tape.close(this.#call, this.#moduleId)
    if (outcome) this.#tape.add({ type: 'result', call: this.#call, ms: this.#tape.ms(), shape, ...outcome })
  }

  #note(effect: EffectLine['effect'], value: unknown): void {
    this.#tape.add({
      type: 'effect',
      call: this.#call,
      ms: this.#tape.ms(),
      effect,
      value: this.#tape.encode(value),
    })
  }
}
