import { isDeepStrictEqual } from 'node:util'
import type { AdapterRuns, OpenCall, StoredRunInfo, TenantRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import { HostError } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { GivenAnswer } from '../../../../run/waiting/pending-call.ts'
import { describeOpen } from '../elicitation/describe-open.ts'
import { type ElicitationResponse, toElicitation, toPendingAnswer } from '../elicitation/elicitation.ts'
import { INTERNAL_ERROR, invalidParams, type JsonRpcError } from '../json-rpc.ts'
import { toContent } from './content.ts'
import { readAttachments } from './read-attachments.ts'
import { UNDECIDED } from './tool-calls.ts'
import type { ToolCatalog, ToolInput } from './tool-catalog.ts'
import { type CallTask, type ToolResult, withStructure } from './tool-result.ts'

/** Name of the extension (SEP-2663). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Call that becomes a task. */
export interface TaskCall extends Pick<Turn, 'variant' | 'traceparent'> {
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly input: ToolInput
}

/** Client that follows tasks. */
export interface TaskClient {
  readonly tenant: string
  /** Version of MCP that it speaks. */
  readonly version: string
  /** Address of the server as it knows it; undefined over stdio. */
  readonly baseUrl: string | undefined
  /** Name of the person who answers questions; undefined where no one may be asked. */
  readonly decider: string | undefined
}

export interface CallTasksOptions {
  readonly host: AgentHost
  readonly runs: AdapterRuns
  /** True where links to what waits lead somewhere. */
  readonly servesInbox: boolean
  /** Days after which a task is removed; undefined keeps all. */
  readonly retentionDays?: number | undefined
  readonly catalog: ToolCatalog
}

type Params = Readonly<Record<string, unknown>>

/** Data of the run of a task. */
const TASK = { kind: 'task' }
const MIN_POLL_MS = 100
const MAX_POLL_MS = 5000
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Calls of tools that clients follow as tasks: durable runs, on any server that shares the store. A task is the run that the call started,
 * with those that continue it after answers.
 */
export class CallTasks {
  readonly #options: CallTasksOptions

  constructor(options: CallTasksOptions) {
    this.#options = options
  }

  /** @throws HostError as {@link TenantRuns.start} */
  async start({ agent, input, variant, traceparent }: TaskCall, client: TaskClient): Promise<CallTask> {
    const messages = [{ role: 'user' as const, content: input.text }]
    const request = { agent, messages, input: input.input, variant, traceparent, data: TASK }
    const run = await this.#runsOf(client).start(request)
    return this.#describe(run, run, client)
  }

  /** @throws JsonRpcError `INVALID_PARAMS` for an unknown task */
  async get(params: Params, client: TaskClient): Promise<CallTask> {
    const { first, last } = await this.#read(params, client)
    return this.#describe(first, last, client)
  }

  /**
   * Takes responses of a person, by the keys of `inputRequests`. Those to calls that are not open are ignored, as the extension says, and
   * one without a decision leaves its call open.
   *
   * @throws JsonRpcError `INVALID_PARAMS` for an unknown task
   * @throws HostError as {@link TenantRuns.answer}: then the calls stay open
   */
  async update(
    params: Params,
    responses: Readonly<Record<string, ElicitationResponse>>,
    client: TaskClient,
  ): Promise<void> {
    const { last } = await this.#read(params, client)
    const { decider } = client
    if (decider === undefined) return
    const answers = new Map(last.open.flatMap((open) => toDecision(open, responses[open.id], decider)))
    if (answers.size === 0) return
    try {
      await this.#runsOf(client).answer(answers, decider)
    } catch (error) {
      const code = error instanceof HostError ? error.code : undefined
      // Deleted since it was read.
      if (code === 'APPROVAL_NOT_FOUND') throw unknownTask(params)
      if (code !== 'APPROVAL_DECIDED') throw error
    }
  }

  /** @throws JsonRpcError `INVALID_PARAMS` for an unknown task */
  async cancel(params: Params, client: TaskClient): Promise<void> {
    let { last } = await this.#read(params, client)
    for (let cancelled: string | undefined; cancelled !== last.id; ) {
      cancelled = last.id
      await this.#runsOf(client).cancel(cancelled)
      // An answer may have been quicker.
      last = (await this.#read(params, client)).last
    }
  }

  #runsOf({ tenant }: TaskClient): TenantRuns {
    return this.#options.runs.of(tenant)
  }

  /** Reads the run that a call has started, and the one that goes on at this moment. */
  async #read({ taskId }: Params, client: TaskClient): Promise<{ first: StoredRunInfo; last: StoredRunInfo }> {
    const runs = this.#runsOf(client)
    const first = typeof taskId === 'string' ? await runs.find(taskId) : undefined
    if (!first || !isTask(first)) throw unknownTask({ taskId })
    let last = first
    while (last.continuedBy !== null) {
      const next = await runs.find(last.continuedBy)
      if (!next) break
      last = next
    }
    return { first, last }
  }

  async #describe(first: StoredRunInfo, last: StoredRunInfo, client: TaskClient): Promise<CallTask> {
    const { retentionDays } = this.#options
    return {
      taskId: first.id,
      createdAt: toIso(first.createdAt),
      lastUpdatedAt: toIso(last.endedAt ?? last.createdAt),
      ttlMs: retentionDays === undefined ? null : retentionDays * DAY_MS,
      pollIntervalMs: toPollInterval(Date.now() - first.createdAt * 1000),
      ...(await this.#describeState(last, client)),
    }
  }

  async #describeState(
    last: StoredRunInfo,
    client: TaskClient,
  ): Promise<Pick<CallTask, 'status' | 'statusMessage' | 'inputRequests' | 'result' | 'error'>> {
    const { status, open, error = 'Agent execution failed' } = last
    if (status === 'queued' || status === 'in_progress') return { status: 'working' }
    if (status === 'cancelled') return { status }
    if (status === 'failed') return { status, statusMessage: error, error: { code: INTERNAL_ERROR, message: error } }
    if (status === 'expired') {
      const content = [{ type: 'text' as const, text: UNDECIDED }]
      return { status: 'completed', result: { resultType: 'complete', content, isError: true } }
    }
    if (status === 'completed') {
      const result = await this.#resultOf(last, client)
      return { status, result: { resultType: 'complete', ...result } }
    }
    if (client.decider !== undefined) return { status: 'input_required', inputRequests: toInputRequests(open) }
    return { status: 'working', statusMessage: describeOpen(open, client, this.#options) }
  }

  async #resultOf(last: StoredRunInfo, client: TaskClient): Promise<ToolResult> {
    const { text } = last
    const attachments = await readAttachments(this.#runsOf(client), last.id)
    const content = toContent(text, attachments, client.version)
    const output = this.#outputOf(last)
    return output ? withStructure(content, text, output, this.#options.catalog) : { content }
  }

  /** Schema of the answers of an agent: none once it is gone. */
  #outputOf({ agent }: StoredRunInfo) {
    const { host } = this.#options
    return agent !== null && host.has(agent) ? host.resolve(agent).agent.output : undefined
  }
}

function unknownTask({ taskId }: Params): JsonRpcError {
  if (typeof taskId !== 'string') return invalidParams('taskId must be a string')
  return invalidParams(`there is no task '${taskId}'`)
}

/** Tells runs of calls that became tasks from those that this adapter kept for another reason. */
function isTask({ data }: StoredRunInfo): boolean {
  return isDeepStrictEqual(data, TASK)
}

function toInputRequests(open: readonly OpenCall[]): NonNullable<CallTask['inputRequests']> {
  return Object.fromEntries(
    open.map(({ id, call }) => [
      id,
      { method: 'elicitation/create', params: { mode: 'form', ...toElicitation(call) } },
    ]),
  )
}

function toDecision(
  { id, call }: OpenCall,
  response: ElicitationResponse | undefined,
  by: string,
): [string, GivenAnswer][] {
  const answer = response && toPendingAnswer(call, response, by)
  if (!answer) return []
  const { callId: _callId, ...given } = answer
  return [[id, given]]
}

/** Returns a tenth of the age of a task: short ones are over soon, and long ones cost few requests. */
function toPollInterval(ageMs: number): number {
  return Math.round(Math.min(Math.max(ageMs / 10, MIN_POLL_MS), MAX_POLL_MS))
}

function toIso(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
