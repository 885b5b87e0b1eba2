import { join } from 'node:path'
import { onAbort, settlesWithin } from '../../async.ts'
import { readDefinition } from '../../definition/definition.ts'
import { badOption, HostError, hasCode, messageOf } from '../../errors.ts'
import { NO_SEALING, NO_STORAGE } from '../../host/no-storage.ts'
import { ModuleLoader } from '../../module/load-module.ts'
import { ProjectCode } from '../../module/project-code.ts'
import { type Log, silentLog } from '../../protocols/log.ts'
import { type Attachment, isUser } from '../../protocols/message.ts'
import type { StorageSource } from '../../protocols/storage.ts'
import { hideSecrets, makeNameSecrets, type Redact } from '../../redaction/redact.ts'
import { isSecretName } from '../../redaction/secret-name.ts'
import { Agent } from '../../run/agent/agent.ts'
import { EventListeners } from '../../run/calls/agent-events.ts'
import type { RunEvent, RunStatus } from '../../run/run-event.ts'
import type { RunEnd, RunHandle, RunResult, Turn } from '../../run/turn.ts'
import { digestOf, type PendingAnswer, type PendingCall } from '../../run/waiting/pending-call.ts'
import { namePlace } from '../../variants/called-changes.ts'
import type { VariantChange } from '../../wire/variant.ts'
import { type Project, planAgent } from '../../wiring/plan-agent.ts'
import { providedBy } from '../../wiring/wiring.ts'
import { hashFile } from '../file/hash-file.ts'
import { lastRunOf, type Tape, type TapedRun } from '../file/read-tape.ts'
import type { EndLine, HeadLine } from '../file/tape-lines.ts'
import { decodeValue, encodeValue } from '../file/tape-values.ts'
import type { AskedCall } from './call-matcher.ts'
import { describeDifferences } from './describe-differences.ts'
import { type Divergence, toShown } from './divergence.ts'
import { PlayRecorder, type PlayRecorderOptions } from './play-recorder.ts'
import { withStandIns } from './stand-ins.ts'
import { TapePlayer } from './tape-player.ts'

export interface ReplayOptions {
  /** Absolute: modules are loaded from here. */
  readonly projectDir: string
  /** The agent: text of its file, or plain data. Left out: as it was recorded. */
  readonly agent?: { readonly source: unknown; readonly file: string | undefined } | undefined
  /** Values of its configs to change, after those that the variant of the run changed. Default: none. */
  readonly changes?: readonly VariantChange[]
  /** Default: `process.env`. Variables of the tape fill in what is missing, and secrets are not needed. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** `llm`, `tools`, or ids of modules: these are called for real. Default: none. */
  readonly live?: readonly string[]
  /** Number of the first call that they get; the ones before come from the tape. Default: 1. */
  readonly from?: number
  readonly log?: Log
  /** Records of modules that are called for real. */
  readonly storage?: StorageSource
  /** Records the replay as a tape of its own. */
  readonly record?: Pick<PlayRecorderOptions, 'add'> | undefined
  /** Called with each call across a boundary, before it is answered. */
  readonly onCall?: (call: AskedCall) => void
  /** Called with the events of the runs. */
  readonly onEvent?: (event: RunEvent) => void
  /** Text in the place of the user's last message. Default: as it was recorded. */
  readonly input?: string | undefined
  /** Loaded code of the project, for many replays. Default: it is loaded for this one. */
  readonly code?: Pick<Project, 'code' | 'loader'>
  /** Ends the replay. */
  readonly signal?: AbortSignal
  /** Listens to the calls between modules, and to the ends of the runs. They have the ids of the recorded runs. */
  readonly observer?: ReplayObserver
}

/** Observes the runs of a replay as a host does its own. */
export interface ReplayObserver {
  readonly events: EventListeners
  onRunEnd(end: RunEnd): void
}

/** A run that was replayed. */
export interface ReplayedRun {
  readonly recorded: TapedRun
  readonly status: RunStatus
  readonly text: string
  readonly error: string | null
  readonly pending: readonly Pick<PendingCall, 'kind' | 'name'>[]
  readonly result: RunResult | undefined
  /** True for a run that had failed, and went on beyond its tape now. */
  readonly isBeyond: boolean
}

/** Outcome of a replay. */
export interface Replay {
  /** Those that were begun, oldest first. */
  readonly runs: readonly ReplayedRun[]
  /** The first difference; undefined when there is none. */
  readonly divergence: Divergence | undefined
  /** Files (relative to the project) whose source has changed since, with the modules that they belong to. */
  readonly changedFiles: readonly { readonly file: string; readonly modules: readonly string[] }[]
  /** Number of calls that were made for real. */
  readonly liveCalls: number
}

/**
 * Runs the turns of a tape again, with what it recorded in the place of models, tools, memories and records: nothing connects, no tool
 * runs, no key is needed. The first call that the tape does not have ends it.
 *
 * @throws HostError `TAPE_INVALID`; AgentError `AGENT_INVALID` when the agent cannot be planned
 */
export async function replayTape(tape: Tape, options: ReplayOptions): Promise<Replay> {
  const { projectDir } = options
  const loaded = options.code ?? loadCode(projectDir)
  const runs: ReplayedRun[] = []
  let offset = 0
  let liveCalls = 0
  for (const recorded of tape.runs) {
    const { run, divergence, live } = await replayRun(recorded, offset, options, loaded)
    runs.push(run)
    liveCalls += live
    if (divergence) return { runs, divergence, changedFiles: findChanged(tape, projectDir), liveCalls }
    offset += recorded.calls.length
  }
  return { runs, divergence: undefined, changedFiles: findChanged(tape, projectDir), liveCalls }
}

/** Code of a project, to be loaded once for many replays. */
export function loadCode(projectDir: string): Pick<Project, 'code' | 'loader'> {
  const code = new ProjectCode(projectDir)
  return { code, loader: new ModuleLoader(projectDir, code) }
}

/** Time that the modules of a replay get to be disposed. */
const CLOSE_MS = 1000
/** Time that a run gets to go on without a call that has no end, once the tape has nothing else to give. */
const STUCK_MS = 5000

interface RunOutcome {
  readonly run: ReplayedRun
  readonly divergence: Divergence | undefined
  readonly live: number
}

/** Plans the agent of a recorded run as it is to be replayed, and plays the run. */
async function replayRun(
  recorded: TapedRun,
  offset: number,
  options: ReplayOptions,
  code: Pick<Project, 'code' | 'loader'>,
): Promise<RunOutcome> {
  const { projectDir: dir, log = silentLog, storage = NO_STORAGE, changes = [] } = options
  const environment = fillEnvironment(recorded.head, options.environment ?? process.env)
  const project: Project = { ...code, dir, environment, log, storage, sealing: NO_SEALING, publicUrl: '' }
  const { source, file } = options.agent ?? { source: recorded.head.agent.definition, file: undefined }
  const live = await findLive(options.live ?? [], recorded, project, source, file)
  refuseCalled(changes)
  const { agent: standing, bounded } = await withStandIns({
    project,
    source,
    file,
    live,
    changes: [...(decodeTurn(recorded).variant ?? []), ...changes],
  })
  const blueprint = await planAgent(standing, file, project)
  const hide = makeNameSecrets(environment)
  const replay = new RunReplay(recorded, offset, options, live, hide)
  const boundaries = options.record
    ? new PlayRecorder(replay.player, { ...bounded, environment, hide, ...options.record })
    : replay.player
  const events = options.observer?.events ?? new EventListeners(log)
  return replay.play(await Agent.open(blueprint, { events, log, boundaries }))
}

/** A recorded run while it is run again. */
class RunReplay {
  readonly player: TapePlayer
  readonly #recorded: TapedRun
  readonly #offset: number
  readonly #options: ReplayOptions
  readonly #live: ReadonlySet<string>
  readonly #hide: Redact
  readonly #attachments: Attachment[] = []
  #handle: RunHandle | undefined
  #text = ''
  #divergence: Divergence | undefined
  #isBeyond = false
  #stuckTimer: NodeJS.Timeout | undefined
  #stuckAt: number | undefined

  constructor(recorded: TapedRun, offset: number, options: ReplayOptions, live: ReadonlySet<string>, hide: Redact) {
    this.#recorded = recorded
    this.#offset = offset
    this.#options = options
    this.#live = live
    this.#hide = hide
    this.player = new TapePlayer({
      run: recorded,
      offset,
      live,
      from: options.from ?? 1,
      isLenient: options.changes !== undefined && options.changes.length > 0,
      hide,
      onDivergence: (found) => {
        this.#divergence ??= found
        this.#stop()
      },
      onBeyond: () => {
        this.#isBeyond = true
        this.#stop()
      },
      onCall: (call) => options.onCall?.(call),
      onPlayed: () => this.#stopWhereCancelled(),
      onCutOff: ({ line }) => this.#stopWhereStuck(line.call + offset),
    })
  }

  async play(agent: Agent): Promise<RunOutcome> {
    const replayed = await this.#run(agent).finally(async () => {
      clearTimeout(this.#stuckTimer)
      // Code that does not look at its signal must not hold up the rest.
      await settlesWithin(agent.close(), CLOSE_MS)
    })
    if (this.#stuckAt !== undefined) throw misfit(this.#stuckAt)
    const run = { ...replayed, isBeyond: this.#isBeyond }
    return { run, divergence: this.#divergence ?? this.#compareEnds(run), live: this.player.liveCalls }
  }

  /** @throws HostError when the run cannot start */
  async #run(agent: Agent): Promise<Omit<ReplayedRun, 'isBeyond'>> {
    const handle = this.#start(agent)
    const forget = onAbort(this.#options.signal, () => this.#stop())
    this.#stopWhereCancelled()
    const replayed = await toReplayed(this.#recorded, handle.result, () => this.#text)
    forget()
    return replayed
  }

  #start(agent: Agent): RunHandle {
    const { turn: line } = this.#recorded
    const { input, observer, onEvent } = this.#options
    if (!agent.hasEntryPoint(line.entry_point)) throw noEntryPoint(this.#recorded)
    const turn: Turn = {
      ...withInput(toTurn(this.#recorded, agent.info.version), input),
      onEvent: (event) => {
        if (event.type === 'text') this.#text += event.text
        if (event.type === 'attachment') this.#attachments.push(event.attachment)
        onEvent?.(event)
        this.#stopWhereCancelled()
      },
    }
    this.#handle = agent.start(line.entry_point, turn, {
      onSettled: (_handle, describe) => observer?.onRunEnd(describe()),
      onFinished() {},
    })
    return this.#handle
  }

  #stop(): void {
    this.#handle?.abort()
  }

  /** The client of a cancelled run left when it had got this much. */
  #stopWhereCancelled(): void {
    const { status, text } = this.#recorded.end
    if (status !== 'cancelled' || !this.player.isPlayed || this.#text.length < text.length) return
    setImmediate(() => this.#stop())
  }

  #stopWhereStuck(call: number): void {
    if (this.#recorded.end.status === 'cancelled') this.#stop()
    else
      this.#stuckTimer ??= setTimeout(() => {
        this.#stuckAt = call
        this.#stop()
      }, STUCK_MS)
  }

  #compareEnds(run: ReplayedRun): Divergence | undefined {
    if (this.#isBeyond || this.#live.size > 0) return undefined
    const { left } = this.player
    const { turn, end } = this.#recorded
    // A failed run that no longer fails is mended: what it does from there on is on no tape.
    if (end.status === 'failed' && run.status !== 'failed' && !left) return undefined
    if (left) {
      const shown = toShown(left.line, left.line.call + this.#offset)
      return { runId: turn.run_id, kind: 'missing', asked: null, recorded: shown, differences: [] }
    }
    const recorded = JSON.parse(this.player.rename(JSON.stringify(recordedEnd(this.#recorded))))
    const asked = JSON.parse(hideSecrets(JSON.stringify(replayedEnd(run, this.#attachments)), this.#hide))
    // A tool that is played from the tape sends no attachments, though the recorded one did.
    const hasTools = this.#recorded.calls.some(({ line }) => line.protocol !== 'LLM')
    if (hasTools && isWithin(asked.attachments, recorded.attachments)) recorded.attachments = asked.attachments
    const differences = compareEnds(recorded, asked)
    return differences.length === 0
      ? undefined
      : { runId: turn.run_id, kind: 'end', asked: null, recorded: null, differences }
  }
}

async function toReplayed(
  recorded: TapedRun,
  ending: Promise<RunResult>,
  textSoFar: () => string,
): Promise<Omit<ReplayedRun, 'isBeyond'>> {
  try {
    const result = await ending
    const { status, text } = result
    const pending = result.pending.map(({ kind, name }) => ({ kind, name }))
    return { recorded, status, text, error: null, pending, result }
  } catch (error) {
    const isAborted = hasCode(error, 'RUN_ABORTED')
    return {
      recorded,
      status: isAborted ? 'cancelled' : 'failed',
      text: textSoFar(),
      error: messageOf(error),
      pending: [],
      result: undefined,
    }
  }
}

/** End of a run, as it is compared. */
type ComparedEnd = Pick<EndLine, 'status' | 'reason' | 'attachments' | 'error' | 'pending' | 'pendingArguments'> & {
  readonly answer: string
}

function recordedEnd({ end }: TapedRun): ComparedEnd {
  const { status, reason, text: answer, attachments, error, pending, pendingArguments } = end
  return { status, reason, answer, attachments, error, pending, pendingArguments }
}

function replayedEnd(run: ReplayedRun, attachments: readonly Attachment[]): ComparedEnd {
  const { recorded, status, text: answer, error, pending, result } = run
  const encode = (value: unknown) => encodeValue(value, () => {})
  return {
    status,
    reason: result?.incompleteReason ?? null,
    answer,
    attachments: attachments.map(encode),
    error,
    pending,
    // Tapes of earlier versions have none.
    pendingArguments: recorded.end.pendingArguments && result?.pending.map((call) => encode(call.arguments)),
  }
}

/** Tells whether all of some values are among others, in their order. */
function isWithin(some: readonly unknown[], others: readonly unknown[]): boolean {
  const left = some.map((each) => JSON.stringify(each))
  for (const other of others) if (JSON.stringify(other) === left[0]) left.shift()
  return left.length === 0
}

function compareEnds(recorded: ComparedEnd, asked: ComparedEnd): string[] {
  if (recorded.status !== 'cancelled' || asked.status !== 'cancelled') return describeDifferences(recorded, asked)
  const [one, other] = [recorded.answer, asked.answer]
  // The client may leave a little earlier or later in a replay: one of the texts may be longer.
  return one.startsWith(other) || other.startsWith(one) ? [] : describeDifferences({ answer: one }, { answer: other })
}

/** Variables that are needed and not there: those of the tape, and for a secret its own name. */
function fillEnvironment(
  { environment: recorded, agent }: HeadLine,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const named = [...JSON.stringify(agent.definition).matchAll(/\$\{([A-Za-z_]\w*)/g)].map(([, name = '']) => name)
  const secrets = named.filter((name) => isSecretName(name) && environment[name] === undefined)
  return { ...recorded, ...Object.fromEntries(secrets.map((name) => [name, `\${${name}}`])), ...environment }
}

/** The turn of a run. Decisions are bound to the version of the agent: here to that of the replay. */
export function toTurn(recorded: TapedRun, version: string): Turn {
  const { head, turn: line } = recorded
  const turn = decodeTurn(recorded)
  const digests = new Map<string, string>()
  const rebind = (call: PendingCall): PendingCall => {
    if (call.digest === undefined || call.digest !== digestOf(call.name, call.arguments, head.agent.version))
      return call
    const digest = digestOf(call.name, call.arguments, version)
    digests.set(call.digest, digest)
    return { ...call, digest }
  }
  const pending = turn.pending?.map(rebind)
  const answers = turn.answers?.map((answer): PendingAnswer => {
    if (answer.kind !== 'approval' || answer.digest === undefined) return answer
    return { ...answer, digest: digests.get(answer.digest) ?? answer.digest }
  })
  return { ...turn, runId: line.run_id, tenant: line.tenant, pending, answers }
}

export function decodeTurn({ turn, findBytes }: TapedRun): Turn {
  return decodeValue(turn.turn, findBytes) as Turn
}

/** The turn with another question. */
function withInput(turn: Turn, input: string | undefined): Turn {
  const last = turn.messages.findLastIndex(isUser)
  if (input === undefined || last === -1) return turn
  return {
    ...turn,
    messages: turn.messages.map((message, index) => (index === last ? { ...message, content: input } : message)),
  }
}

/** Ids of the modules that are called for real. Tools need their approvals: with any of them, every policy is. */
export async function findLive(
  names: readonly string[],
  { head }: TapedRun,
  { loader }: Project,
  source: unknown,
  file: string | undefined,
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const { modules } = readDefinition(source, file).definition
  const ids = modules.map(({ id }) => id)
  const unknown = names.find((name) => !ids.includes(name) && KINDS[name] === undefined)
  if (unknown !== undefined) throw unknownLive(unknown, ids, head)
  const provided = await Promise.all(
    modules.map(async (entry) => {
      const { module } = await loader.load(entry.module)
      return { id: entry.id, protocols: providedBy(module, entry) }
    }),
  )
  const kinds = names.flatMap((name) => KINDS[name] ?? [])
  const live = provided.filter(
    ({ id, protocols }) => names.includes(id) || protocols.some((each) => kinds.includes(each)),
  )
  const hasTools = live.some(({ protocols }) => protocols.includes('ToolProvider'))
  const policies = provided.filter(({ protocols }) => hasTools && protocols.includes('ApprovalPolicy'))
  return new Set([...live, ...policies].map(({ id }) => id))
}

/** Names of many modules at once, by a protocol. */
const KINDS: Readonly<Record<string, string>> = { llm: 'LLM', tools: 'ToolProvider' }

function unknownLive(name: string, modules: readonly string[], { agent }: HeadLine): HostError {
  return badOption(`--live ${name}: agent '${agent.id}' has no module '${name}'.`, {
    suggestions: [`Write llm, tools, or one of its modules: ${modules.join(', ')}.`],
  })
}

function misfit(call: number): HostError {
  return new HostError(
    'TAPE_INVALID',
    `The tape does not fit together: call ${call} has no end, and the run waits for it.`,
    { suggestions: ['It was edited, or damaged on its way. Record the run again.'] },
  )
}

function noEntryPoint({ turn, head }: TapedRun): HostError {
  return new HostError(
    'TAPE_INVALID',
    `The tape calls '${turn.entry_point}', and agent '${head.agent.id}' has no such entry point.`,
    { suggestions: ['--as-recorded replays the agent as it was.'] },
  )
}

function findChanged(tape: Tape, projectDir: string): Replay['changedFiles'] {
  const { files, modules } = lastRunOf(tape).head
  return Object.entries(files).flatMap(([file, hash]) => {
    const path = join(projectDir, file)
    const now = hashFile(path)
    const owners = modules.filter((module) => module.files.includes(file)).map(({ id }) => id)
    return now === hash ? [] : [{ file, modules: owners }]
  })
}

/** @throws HostError `OPTION_INVALID`: their answers come from the tape */
function refuseCalled(changes: readonly VariantChange[]): void {
  const change = changes.find(({ agent }) => agent !== undefined)
  if (!change) return
  const reason = 'is a value of a called agent, whose answers come from the tape.'
  throw badOption(`${namePlace(change)} ${reason}`, {
    suggestions: ['Run the case without a tape.'],
  })
}
