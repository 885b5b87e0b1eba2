import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AdapterRuns } from '../../../../durable/adapter-runs/adapter-runs.ts'
import type { HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import { hasCode } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { lengthOfTexts } from '../../../../json.ts'
import type { Redact } from '../../../../redaction/redact.ts'
import { ByteBudget, MIN_BYTES } from '../../../bodies/byte-budget.ts'
import { type LoggedRequest, noteAgent } from '../../../monitoring/request-log.ts'
import type { CallMemory } from '../call-memory/call-memory.ts'
import { INTERNAL_ERROR, invalidParams, JsonRpcError } from '../json-rpc.ts'
import { AgentResources, maxLength } from '../resources/agent-resources.ts'
import { SKILLS_EXTENSION } from '../resources/agent-skills.ts'
import { type Call, type Caller, type CallOptions, toCall } from './call.ts'
import { CallTasks, type CallTasksOptions, type TaskCall, type TaskClient } from './call-tasks.ts'
import { makeToRpcError, type ToRpcError } from './to-rpc-error.ts'
import { nameOf, ToolCalls, type ToolCallsOptions, type ToolRequest } from './tool-calls.ts'
import { ToolCatalog } from './tool-catalog.ts'
import type { ToolResult } from './tool-result.ts'

export interface AgentToolsOptions {
  /** Takes the runs whose clients cannot be asked. */
  readonly runs: AdapterRuns
  /** True where links to what waits lead somewhere. */
  readonly servesInbox: boolean
  readonly host: AgentHost
  readonly describeFailure: (error: unknown) => string
  readonly limits: HistoryLimits & Pick<CallTasksOptions, 'retentionDays'>
  readonly memory: CallMemory
  readonly seal: ToolCallsOptions['seal']
  readonly redact: Redact
}

/** Sender of a request that only reads. */
export interface Reader extends Pick<Caller, 'tenant' | 'source'> {
  /** Reply that the answer is sent with; undefined over stdio, whose one client is the user of the machine. */
  readonly answer?: Writable | undefined
  /** Batch that the request is part of. */
  readonly batch?: BatchReads
}

/** Agents as tools, for every protocol version and transport. */
export class AgentTools {
  readonly #options: AgentToolsOptions
  readonly #catalog = new ToolCatalog()
  readonly #calls: ToolCalls
  readonly #toRpcError: ToRpcError
  readonly #large = new ByteBudget()
  readonly resources: AgentResources
  readonly tasks: CallTasks

  constructor(options: AgentToolsOptions) {
    this.#options = options
    this.#toRpcError = makeToRpcError(options.describeFailure)
    const parts = { ...options, catalog: this.#catalog, toRpcError: this.#toRpcError }
    this.resources = new AgentResources(options)
    this.#calls = new ToolCalls(parts)
    this.tasks = new CallTasks({ ...parts, retentionDays: options.limits.retentionDays })
  }

  /** @throws JsonRpcError `INVALID_PARAMS` */
  list(cursor: unknown) {
    return this.#catalog.list(this.#options.host.list(), cursor)
  }

  /**
   * Starts a call.
   *
   * @throws JsonRpcError `INVALID_PARAMS` when there is no such agent or the arguments do not fit
   */
  call(params: Readonly<Record<string, unknown>>, options: CallOptions): Call<ToolResult> {
    try {
      const request = this.#readRequest(params)
      noteAgent(options.source, request.info.id)
      const isNew = options.elicitation?.state === undefined
      if (options.takesTasks && request.info.tasks && isNew) return this.#startTask(request, options)
      return this.#calls.start(request, options)
    } catch (error) {
      throw this.#toRpcError(error, options.source)
    }
  }

  /** Cancels a waiting call: its client has left. */
  giveUp(state: string, tenant: string): Promise<void> {
    return this.#calls.giveUp(state, tenant)
  }

  /** Answers a request that only reads. @throws JsonRpcError */
  read(method: ReadMethod, params: Params, { tenant, source, answer, batch }: Reader): Promise<object> {
    const read = (): Promise<object> => READS[method](this.resources, params, tenant)
    const gate: Gate = (again, lengthOf) => this.readFor(answer, again, lengthOf)
    const reading = batch ? batch.read(JSON.stringify([method, params]), read, gate) : gate(read, lengthOfTexts)
    return this.inRpcTerms(reading, source)
  }

  /**
   * Reads something for an answer: what is large waits until others are sent.
   *
   * @throws HostError `OVERLOADED`
   */
  readFor<T>(
    answer: Writable | undefined,
    read: () => Promise<T>,
    lengthOf: (value: T) => number = lengthOfTexts,
  ): Promise<T> {
    return answer ? this.#large.read(read, lengthOf, answer) : read()
  }

  /** Waits for work, whose error becomes one of JSON-RPC. @throws JsonRpcError */
  async inRpcTerms<R>(work: Promise<R>, source: LoggedRequest): Promise<R> {
    try {
      return await work
    } catch (error) {
      throw this.#toRpcError(error, source)
    }
  }

  /** Tells whether calls of some agent become tasks. */
  get hasTasks(): boolean {
    return this.#options.host.list().some(({ tasks }) => tasks)
  }

  /** Capabilities beside tools, where agents expose something. */
  get moreCapabilities(): { resources?: object; extensions?: Record<string, Record<string, never>> } {
    return {
      ...(this.resources.isEmpty ? {} : { resources: {} }),
      ...(this.resources.skills.isEmpty ? {} : { extensions: { [SKILLS_EXTENSION]: {} } }),
    }
  }

  /** Closes the memory of earlier calls. */
  close(): Promise<void> {
    return this.#options.memory.close()
  }

  #readRequest({ name, arguments: given }: Readonly<Record<string, unknown>>): ToolRequest {
    if (typeof name !== 'string' || name === '') {
      throw invalidParams('name must be the name of an agent')
    }
    const { agent: info } = this.#options.host.resolve(name, '.')
    return { name, info, input: this.#catalog.readArguments(info, given) }
  }

  /** Starts a call as a task. A client that leaves before it knows of the task leaves nothing behind. */
  #startTask(request: ToolRequest, options: CallOptions): Call<ToolResult> {
    const { source } = options
    const client: TaskClient = { ...options, decider: options.elicitation?.by }
    let hasLeft = false
    const start = async (): Promise<ToolResult> => {
      const task = await this.tasks.start(await this.#toTaskCall(request, options), client)
      if (hasLeft) await this.tasks.cancel({ taskId: task.taskId }, client)
      return { content: [], task }
    }
    return toCall(this.inRpcTerms(start(), source), () => {
      hasLeft = true
    })
  }

  async #toTaskCall({ name, input }: ToolRequest, { traceparent, variantOf }: CallOptions): Promise<TaskCall> {
    const variant = await variantOf?.(name)
    return { agent: nameOf(this.#options.host.resolve(name, '.')), input, variant, traceparent }
  }
}

/** Requests that only read: they cannot be stopped. */
const READS = {
  'resources/read': (resources: AgentResources, params: Params, tenant: string) => resources.read(params, tenant),
  'resources/list': (resources: AgentResources, { cursor }: Params, tenant: string) => resources.list(cursor, tenant),
  'skills/list': ({ skills }: AgentResources, { cursor }: Params, tenant: string) => skills.list(cursor, tenant),
  'skills/get': ({ skills }: AgentResources, params: Params, tenant: string) => skills.get(params, tenant),
}

type Params = Readonly<Record<string, unknown>>
export type ReadMethod = keyof typeof READS

export function isRead(method: string): method is ReadMethod {
  return Object.hasOwn(READS, method)
}

type Gate = (read: () => Promise<object>, lengthOf: (value: object) => number) => Promise<object>

/** Reads of one batch, one at a time. Identical reads are done once. All answers together may be as long as the answer to a single request. */
export class BatchReads {
  readonly #known = new Map<string, object>()
  #last: Promise<unknown> = Promise.resolve()
  #length = 0
  #hasTaken = false
  /** Answer to all that is still to come. */
  #refusal: Error | undefined

  /** Counts the length of an answer. Returns false when there is no room for it, and so for none after it. */
  admits(length: number): boolean {
    this.#length += length
    if (this.#length <= maxLength()) return true
    this.#known.clear()
    this.#refusal ??= tooLong()
    return false
  }

  /**
   * @param name tells reads apart; the same one is always read alike
   * @throws JsonRpcError `INTERNAL_ERROR` beyond the limit; HostError `OVERLOADED`
   */
  read(name: string, read: () => Promise<object>, gate: Gate): Promise<object> {
    const value = this.#last.then(() => this.#read(name, read, gate))
    this.#last = value.catch((error) => {
      // Each of the others would wait as long.
      if (hasCode(error, 'OVERLOADED')) this.#refusal ??= error
    })
    return value
  }

  async #read(name: string, read: () => Promise<object>, gate: Gate): Promise<object> {
    // Other requests get their turn even if the read finds everything in memory.
    await nextTurn()
    if (this.#refusal) throw this.#refusal
    // At once for all that may come: batches with a part each would wait for one another.
    const bytesOf = (value: object) => {
      if (this.#hasTaken || this.#length + lengthOfTexts(value) < MIN_BYTES) return 0
      this.#hasTaken = true
      return maxLength()
    }
    const value = await gate(async () => this.#known.get(name) ?? read(), bytesOf)
    if (!this.admits(lengthOfTexts(value))) throw this.#refusal
    this.#known.set(name, value)
    return value
  }
}

/** Returns the error of a message of a batch whose answers are too long. */
export function tooLong(): JsonRpcError {
  const limit = `more than ${maxLength()} characters`
  return new JsonRpcError(INTERNAL_ERROR, `The answers of the batch have ${limit}: send this message by itself`)
}
