import { deferred, raceAbort } from '../../async.ts'
import { hideSecrets, type Redact } from '../../redaction/redact.ts'
import { AgentRun } from '../../run/agent-run.ts'
import type { Boundaries, Place } from '../../run/calls/boundaries.ts'
import type { RunResult, Turn } from '../../run/turn.ts'
import { digestOf, type PendingCall } from '../../run/waiting/pending-call.ts'
import { asksForNeed, isBoundary, type Method, wrapMethods } from '../boundary.ts'
import type { TapedCall, TapedRun } from '../file/read-tape.ts'
import type { EffectLine, OutcomeLine, PartLine } from '../file/tape-lines.ts'
import { decodeError, decodeValue, encodeValue, type JsonValue } from '../file/tape-values.ts'
import { type AskedCall, CallMatcher } from './call-matcher.ts'
import { type Divergence, describeDivergence, divergenceAt } from './divergence.ts'
import { PlayOrder } from './play-order.ts'

export interface PlayerOptions {
  readonly run: TapedRun
  /** Number of calls on the tape before this run. */
  readonly offset: number
  /** Modules that are called for real. */
  readonly live: ReadonlySet<string>
  /** Number of the first call for which they are; the ones before come from the tape. */
  readonly from: number
  /** Takes the calls before that one in their order, also with other arguments: default false. */
  readonly isLenient?: boolean
  /** Puts names in the place of secrets, as on the tape. */
  readonly hide: Redact
  /** Called with what differs first; the run is to end. */
  readonly onDivergence: (divergence: Divergence) => void
  /** Called when a run goes on beyond its tape, at the end of which it had failed; it is to end. Left out, that is a divergence. */
  readonly onBeyond?: () => void
  /** Called with each call, before it is answered. */
  readonly onCall: (call: AskedCall) => void
  /** Called when everything that came of the calls was given out. */
  readonly onPlayed: () => void
  /** Called when nothing is left to give out, and the run waits for a call that was cut off. */
  readonly onCutOff: (call: TapedCall) => void
}

/** Answers the calls of one run from its tape. */
export class TapePlayer implements Boundaries {
  readonly #options: PlayerOptions
  readonly #matcher: CallMatcher
  /** Recorded calls that are made for real. */
  readonly #real: CallMatcher
  readonly #order: PlayOrder
  /** Ids of live policies. */
  readonly #policies = new Set<string>()
  #run: AgentRun | undefined
  #playing = 0
  #liveCalls = 0

  constructor(options: PlayerOptions) {
    const { run } = options
    this.#options = options
    this.#matcher = new CallMatcher(
      run,
      run.calls.filter((call) => this.#isExpected(call)),
    )
    this.#real = new CallMatcher(
      run,
      run.calls.filter((call) => this.#isReal(call)),
    )
    this.#order = new PlayOrder(() => {
      const next = this.left
      return next && { at: next.at, ms: next.line.ms }
    })
  }

  /** The first recorded call that the run did not ask for. */
  get left(): TapedCall | undefined {
    return first(this.#matcher.left)
  }

  get isPlayed(): boolean {
    return this.#playing === 0 && this.#matcher.left.size === 0
  }

  /** See {@link CallMatcher.rename}. */
  get rename(): CallMatcher['rename'] {
    return this.#matcher.rename
  }

  /** Number of calls that modules made for real. */
  get liveCalls(): number {
    return this.#liveCalls
  }

  begin(run: AgentRun, _turn: Turn, result: Promise<RunResult>): boolean {
    this.#run = run
    const end = () => {
      this.#order.isOver = true
    }
    result.then(end, end)
    return true
  }

  attach(provider: object, place: Place): object {
    if (!isBoundary(place)) return provider
    const isLive = this.#options.live.has(place.moduleId)
    if (isLive && place.protocol.name === 'ApprovalPolicy') this.#policies.add(place.moduleId)
    return wrapMethods(provider, place, (method, name, args) => {
      const last = args.at(-1)
      const run = last instanceof AgentRun ? last : this.#run
      if (!run)
        throw new Error(`Module '${place.callerId}' calls '${place.moduleId}' outside of a run, which no tape has.`)
      const asked = this.#ask(place, name, last instanceof AgentRun ? args.slice(0, -1) : args)
      this.#options.onCall(asked)
      const isOfNeed = asksForNeed(asked) || this.#policies.has(place.callerId)
      if (isLive && (isOfNeed || this.#isPast)) return this.#call(method, provider, args)
      const call = this.#matcher.take(asked)
      if (call) return this.#play(call, run)
      // Of several at the same time the first live one may come before the last recorded one. A call that waits shows its tool.
      if (isLive && (this.#real.take(asked) || name === 'listTools')) return this.#call(method, provider, args)
      return this.#answer(asked, run)
    })
  }

  #call(method: Method, provider: object, args: readonly unknown[]): unknown {
    this.#liveCalls++
    return method.apply(provider, [...args])
  }

  /** True once the run has made every call before the first live one. */
  get #isPast(): boolean {
    const { from, offset } = this.#options
    const left = first(this.#matcher.left)
    return left === undefined || left.line.call + offset >= from
  }

  /** A call within another is answered with that one, unless the outer one is made for real. */
  #isExpected(call: TapedCall): boolean {
    const outer = this.#outerOf(call)
    return (!outer || this.#isReal(outer)) && !this.#isReal(call)
  }

  /** Tells a call that its module makes for real. The need of an approval is always asked live: what the tape has may be about other arguments. */
  #isReal(call: TapedCall): boolean {
    const { live, from, offset } = this.#options
    const { line } = call
    const outer = this.#outerOf(call)
    if (!live.has(line.module) || (outer && !this.#isReal(outer))) return false
    return line.call + offset >= from || this.#isOfNeed(call)
  }

  #isOfNeed(call: TapedCall): boolean {
    const outer = this.#outerOf(call)
    return asksForNeed(call.line) || (outer !== undefined && this.#isOfNeed(outer))
  }

  #outerOf({ line }: TapedCall): TapedCall | undefined {
    return line.within === null ? undefined : this.#options.run.calls[line.within - 1]
  }

  #ask({ moduleId, callerId, protocol }: Place, method: string, args: readonly unknown[]): AskedCall {
    const encoded = args.map((arg) => encodeValue(arg, () => {}))
    const text = hideSecrets(JSON.stringify(encoded), this.#options.hide)
    return {
      module: moduleId,
      caller: callerId,
      protocol: protocol.name,
      method,
      arguments: JSON.parse(text) as JsonValue[],
    }
  }

  /** Answers a call that the tape does not have like this. */
  #answer(asked: AskedCall, run: AgentRun): unknown {
    const { isLenient, from, offset } = this.#options
    // What a policy asks for decides about one exact call.
    const takesNext = isLenient && !this.#policies.has(asked.caller)
    const call = takesNext ? this.#matcher.takeNext(asked, from - offset) : undefined
    // Only calls that need an approval are on a tape.
    if (!call && asked.method === 'needsApproval') return false
    if (!call) throw this.#diverge(asked)
    return this.#play(call, run)
  }

  #diverge(asked: AskedCall): Error {
    const { run, offset, onDivergence, onBeyond } = this.#options
    if (onBeyond && run.end.status === 'failed' && !this.left) {
      onBeyond()
      return new Error('The run goes on beyond its tape.')
    }
    const divergence = divergenceAt(run.turn.run_id, asked, this.#matcher.nearest(asked), offset)
    onDivergence(divergence)
    return new Error(describeDivergence(divergence).join('\n'))
  }

  #play(call: TapedCall, run: AgentRun): unknown {
    const { protocol } = call.line
    const last = call.steps.at(-1)?.read(this.#matcher.rename)
    const outcome = last?.type === 'result' ? last : undefined
    const shape = outcome?.shape ?? (protocol === 'LLM' ? 'stream' : 'promise')
    if (shape === 'stream') return this.#stream(call, run)
    if (shape === 'promise') return this.#settle(call, run)
    for (const step of call.steps) {
      const line = step.read(this.#matcher.rename)
      if (line.type === 'effect') this.#effect(line, run)
    }
    return this.#finish(outcome, run)
  }

  async #settle(call: TapedCall, run: AgentRun): Promise<unknown> {
    this.#begin()
    try {
      for (const step of call.steps) {
        await this.#turnOf(step.at, run)
        const line = step.read(this.#matcher.rename)
        this.#order.given(line.ms)
        if (line.type === 'effect') this.#effect(line, run)
        if (line.type === 'result') return this.#finish(line, run)
      }
    } finally {
      this.#end()
    }
    return this.#cutOff(call, run)
  }

  async *#stream(call: TapedCall, run: AgentRun): AsyncGenerator<unknown> {
    this.#begin()
    try {
      for (const step of call.steps) {
        const turn = this.#turnOf(step.at, run)
        if (turn) await turn
        const line = step.read(this.#matcher.rename)
        this.#order.given(line.ms)
        if (line.type === 'effect') this.#effect(line, run)
        else if (line.type === 'part') yield this.#decode(line)
        else return void this.#finish(line, run)
      }
    } finally {
      this.#end()
    }
    await this.#cutOff(call, run)
  }

  /** As the order has it; a run that is aborted waits for nothing. */
  #turnOf(at: number, { signal }: AgentRun): Promise<void> | undefined {
    const turn = this.#order.turnOf(at)
    return turn && raceAbort(turn, signal)
  }

  #begin(): void {
    this.#playing++
    this.#order.open++
  }

  #end(): void {
    this.#playing--
    this.#order.open--
    this.#options.onPlayed()
  }

  /** A call that was cut off, or that its run did not wait for, has no end but that of the run. */
  async #cutOff(call: TapedCall, run: AgentRun): Promise<never> {
    await this.#turnOf(Number.MAX_SAFE_INTEGER, run)
    this.#options.onCutOff(call)
    return raceAbort(deferred<never>().promise, run.signal)
  }

  #decode({ value }: PartLine): unknown {
    return decodeValue(value, this.#options.run.findBytes)
  }

  /** Returns the result of the call, or throws its error. */
  #finish(line: OutcomeLine | undefined, { waiting, agentVersion }: AgentRun): unknown {
    const { findBytes } = this.#options.run
    if (line?.waits) {
      throw waiting.begin(
        ...line.waits.map((json) => {
          const pending = decodeValue(json, findBytes) as PendingCall
          // The call of a child is bound to the version of its own agent.
          if (pending.digest === undefined || pending.within !== undefined) return pending
          return { ...pending, digest: digestOf(pending.name, pending.arguments, agentVersion) }
        }),
      )
    }
    if (line?.error !== undefined) throw decodeError(line.error, findBytes)
    return decodeValue(line?.value ?? null, findBytes)
  }

  #effect({ effect, value }: EffectLine, run: AgentRun): void {
    const decoded = decodeValue(value, this.#options.run.findBytes)
    if (effect === 'usage') run.addUsage(decoded as Parameters<AgentRun['addUsage']>[0])
    else if (effect === 'incomplete') run.markIncomplete(String(decoded))
    else run.reportProgress(String(decoded))
  }
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value
  return undefined
}
