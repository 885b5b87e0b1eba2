/**
 * The public API: everything that modules, tools, adapters and programs that embed agent-host may import.
 * @module agent-host
 */
import type { FastifyInstance } from 'fastify'
import type { OpenedProject } from './assembly/opened-project.ts'
import type { ProjectOptions } from './assembly/project-options.ts'
import { badOption } from './errors.ts'
import { fieldsOf } from './json.ts'
import type { ServerOptions } from './server/options/options.ts'
import type { AgentServer } from './server/server.ts'
import type { SavedReplay, SavedReplayOptions } from './tape/saved-tests/replay-saved.ts'

export type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
export { type Static, type TSchema, Type } from 'typebox'
export type { OpenedProject } from './assembly/opened-project.ts'
export type { LogLevel } from './assembly/project-log.ts'
export type { ProjectOptions } from './assembly/project-options.ts'
export { raceAbort, withDeadline } from './async.ts'
export type { DecodedUrl } from './data-url.ts'
export { decodeText } from './decode-text.ts'
export { type ArgumentCheck, checkArguments, makeArgumentCheck } from './definition/check-arguments.ts'
export { type CompiledSchema, compileSchema } from './definition/compile-schema.ts'
export type {
  JsonObjectSchema,
  Schedule,
  ToolAnnotations,
  ToolMetadata,
  Trigger,
  TriggerSignature,
} from './definition/definition.ts'
export { type FrontMatter, readFrontMatter } from './definition/front-matter.ts'
export { hasPatterns } from './definition/has-patterns.ts'
export type { Environment } from './definition/interpolate.ts'
export { AgentError, type Position, type Problem } from './definition/problem.ts'
export { isTimeLimit, runLimited } from './definition/run-limited.ts'
export type { Scope } from './definition/scope.ts'
export { readYamlText, type YamlText, type YamlTextOptions } from './definition/yaml-text.ts'
export type {
  AdapterRuns,
  AnsweredRun,
  BegunRequest,
  DurableRequest,
  FollowOptions,
  HereOptions,
  KeptRun,
  OnceAnswers,
  OpenCall,
  ResumedRun,
  RunOutcome,
  StoredRunInfo,
  StoredRunStatus,
  TenantRuns,
  WaitingApproval,
  WaitingPage,
  WaitingRange,
} from './durable/adapter-runs/adapter-runs.ts'
export type { IdempotentRequest } from './durable/idempotency/idempotent-requests.ts'
export type { DurableEvent } from './durable/runs/durable-event.ts'
export {
  type ClientCode,
  causesOf,
  ERROR_CODES,
  type ErrorCode,
  HostError,
  type HostErrorOptions,
  type ModelLimit,
  ModelLimited,
  type ModelRefusal,
  ModelRefused,
  messageOf,
  type RefusalReason,
} from './errors.ts'
export type { Score, ScoredRun, Scorer, ScorerArguments } from './evals/scorer.ts'
export { type Scorers, scorers } from './evals/scorers/index.ts'
export type { JudgeOptions } from './evals/scorers/judge.ts'
export type { AgentCalls } from './host/called-agents.ts'
export {
  AgentHost,
  type AgentHostOptions,
  type RegisterOptions,
  type ResumeOptions,
  type RunOptions,
  type Target,
} from './host/host.ts'
export type { NameSeparator } from './host/registered-agents.ts'
export type { Reservation } from './host/reservation.ts'
export type { ResumableRun, WaitingOptions, WaitingRun } from './host/waiting-run.ts'
export { type Fields, fieldsOf, isDeeper, isObject, parseJson, toSortedJson } from './json.ts'
export {
  type Dependencies,
  defineModule,
  type Instance,
  type Intersection,
  type MaybeDisposable,
  type Module,
  type ModuleContext,
  type ModuleOptions,
  type Uses,
} from './module/define-module.ts'
export { defineTool, type NeedsApproval, type Tool, type ToolOptions } from './module/define-tool.ts'
export type { ModuleSource } from './module/load-module.ts'
export { AnswerParts, type CollectedAnswer } from './protocols/answer-parts.ts'
export { ApprovalPolicy, type ApprovalRule } from './protocols/approval-policy.ts'
export { type CallableAgent, fitsGlob } from './protocols/callable-agent.ts'
export { Chunker } from './protocols/chunker.ts'
export { ConversationHistory } from './protocols/conversation-history.ts'
export { Embedder } from './protocols/embedder.ts'
export { InputGuard, OutputGuard, type Verdict } from './protocols/guard.ts'
export { type FinishReason, LLM, type LLMPart, type LLMRequest, type ModelInfo } from './protocols/llm.ts'
export type { Log } from './protocols/log.ts'
export { Memory, type MemoryEntry, type MemoryMatch, type MemoryOwner } from './protocols/memory.ts'
export type {
  Attachment,
  Message,
  ProviderMetadata,
  Reasoning,
  RecordedDecision,
  ToolCall,
} from './protocols/message.ts'
export {
  AudioMessageHandler,
  ImageMessageHandler,
  TextMessageHandler,
  VideoMessageHandler,
} from './protocols/message-handlers.ts'
export type { ModelOptions } from './protocols/model-options.ts'
export {
  type Dependency,
  defineProtocol,
  type Many,
  type MethodName,
  many,
  type Optional,
  type OptionalName,
  optional,
  type Protocol,
  type Provided,
} from './protocols/protocol.ts'
export { type CollectedResponse, type ReasoningBlock, Response } from './protocols/response.ts'
export type { AgentCall, AgentReply, Question, Run, RunOverrides, Usage } from './protocols/run.ts'
export type { Sealing } from './protocols/sealing.ts'
export { type Skill, type SkillFile, Skills } from './protocols/skills.ts'
export {
  Storage,
  type StorageOwner,
  type StorageRange,
  type StorageSource,
  type StoredValue,
} from './protocols/storage.ts'
export type { ClientTool, ToolDefinition } from './protocols/tool-definition.ts'
export { type ApprovalNeed, ToolProvider, type ToolResult } from './protocols/tool-provider.ts'
export { sumUsage } from './protocols/usage.ts'
export { VectorIndex } from './protocols/vector-index.ts'
export { checkHeaders, isForbiddenHeader } from './proxy/forbidden-headers.ts'
export {
  fetchWithinOrigin,
  type GuardedFetch,
  type GuardedFetchOptions,
  hostOf,
  limitBody,
  makeGuardedFetch,
} from './proxy/guarded-fetch.ts'
export { proxyAgentFor } from './proxy/proxy-agent-for.ts'
export { type ReadFileLimits, readRegularFile } from './read-regular-file.ts'
export { makeRedact, type Redact } from './redaction/redact.ts'
export type { ModuleCall } from './run/agent/agent.ts'
export type { Capabilities } from './run/agent/agent-capabilities.ts'
export type { AgentInfo, ModuleInfo } from './run/agent/agent-info.ts'
export type { AttachmentJson, MessageJson } from './run/attachment-json.ts'
export type { AgentEvent, AgentEventListener, CalledModel, ReplayOrigin, RunOrigin } from './run/calls/agent-events.ts'
export type { RunEvent, RunEventSink, RunStatus } from './run/run-event.ts'
export type { RunEnd, RunHandle, RunResult, Turn } from './run/turn.ts'
export type {
  AnsweredCall,
  Asker,
  CallDecision,
  EarlierDecision,
  GivenAnswer,
  NestedResult,
  PendingAnswer,
  PendingCall,
  WaitingChild,
} from './run/waiting/pending-call.ts'
export type { Adapter, AdapterClass, AdapterKey, AdapterOptions } from './server/adapters/adapter.ts'
export type { AdapterHttp } from './server/adapters/adapter-http.ts'
export { ChatMessage } from './server/bodies/chat-message.ts'
export type { ChosenTools, ClientChoice } from './server/bodies/choose-tools.ts'
export type { KeyScope, Sender } from './server/guards/principal.ts'
export type { Decider } from './server/inbox/may-decide.ts'
export type {
  AnswerDescription,
  RouteDescription,
  RouteMaker,
  RouteMakers,
  RouteParts,
  RouteTable,
  RouteTag,
} from './server/openapi/describe-routes.ts'
export type { ServerOptions } from './server/options/options.ts'
export type { DialectReply, ErrorDialect, Refusal } from './server/replies/dialect.ts'
export type { AgentServer } from './server/server.ts'
export type {
  EventStream,
  EventStreamOptions,
  EventStreams,
  StreamOptions,
  StreamTransport,
} from './server/streams/event-streams.ts'
export type { StreamedAnswer } from './server/streams/serve-turn.ts'
export { memoryStorage } from './store/memory-storage.ts'
export type { SavedReplay, SavedReplayOptions } from './tape/saved-tests/replay-saved.ts'
export type { GaugeSpec } from './telemetry/add-gauge.ts'
export { VERSION } from './version.ts'
export type { EvalToolCall } from './wire/eval-result.ts'
export { type PairedCall, type PairedMessage, pairCalls } from './wire/paired-calls.ts'
export type { TracedChange, VariantChange } from './wire/variant.ts'
export type { AgentDescription, DescribedVariable, ExchangeRow, ModuleDescription } from './wiring/describe-agent.ts'

/**
 * Assembles a server from options; those that are left out have the defaults of `agent-host serve`. The web server is
 * loaded only when this is called: modules and tools import this file too.
 *
 * @throws HostError `OPTION_INVALID`, `ADAPTER_NOT_FOUND`, `PROJECT_INVALID`
 *
 * @example
 * ```ts
 * export async function serve(): Promise<string> {
 *   const server = await buildServer({ adapters: ['ChatCompatApiAdapter'], port: 8000 })
 *   return server.listen()
 * }
 * ```
 */
export async function buildServer(options: Partial<ServerOptions>): Promise<AgentServer> {
  const server = await import('./server/server.ts')
  return server.buildServer(options)
}

/**
 * Opens a project without a server: its agents registered, traced and disposed as `agent-host serve` does it. Options that are
 * left out have the defaults of the command line; `debug` is also read from `AGENT_HOST_DEBUG_UI`, which `agent-host run` sets.
 *
 * @throws HostError `OPTION_INVALID`, `PROJECT_INVALID`
 *
 * @example
 * ```ts
 * export async function askAll(questions: readonly string[]): Promise<string[]> {
 *   const project = await openProject({ projectDir: '.' })
 *   try {
 *     const results = await Promise.all(questions.map((question) => project.run('example', question)))
 *     return results.map(({ text }) => text)
 *   } finally {
 *     await project.close()
 *   }
 * }
 * ```
 */
export async function openProject(options: Partial<ProjectOptions> = {}): Promise<OpenedProject> {
  const [assembly, { requireOptions, resolveServerOptions }] = await Promise.all([
    import('./assembly/open-project.ts'),
    import('./server/options/options.ts'),
  ])
  // `agent-host run` asks for traces; its output stays what the file prints.
  requireOptions(options)
  const { debug = process.env.AGENT_HOST_DEBUG_UI } = options
  return assembly.openProject(resolveServerOptions({ ...options, debug }), {
    logsSteps: options.debug !== undefined,
  })
}

/**
 * Replays a tape with the agent of the project that it is of: models, tools, memories and records answer as they did, and nothing is
 * called. For tests, as `agent-host runs save` writes them.
 *
 * @param tape its file, relative to the project
 * @throws HostError `TAPE_INVALID`; AgentError `AGENT_INVALID`
 *
 * @example
 * ```ts
 * export async function checkRefund(): Promise<void> {
 *   const { tools, difference } = await replay('tests/tapes/refund.jsonl.gz')
 *   if (difference !== null || tools[0]?.name !== 'refund') throw new Error(difference ?? 'There was no refund.')
 * }
 * ```
 */
export async function replay(tape: string, options: SavedReplayOptions = {}): Promise<SavedReplay> {
  const [{ replaySaved }, { memoryStorage }] = await Promise.all([
    import('./tape/saved-tests/replay-saved.ts'),
    import('./store/memory-storage.ts'),
  ])
  return replaySaved(tape, options, memoryStorage())
}

/** Options of {@link agentHost}: those of a server, and Fastify's `prefix`. */
export interface AgentHostPluginOptions extends Partial<ServerOptions> {
  readonly prefix?: string
}

/** A Fastify instance of the app's own installation, whose types may be those of another version. */
export type FastifyApp = Pick<FastifyInstance, 'prefix' | 'server' | 'version'>

/**
 * A Fastify plugin that serves a project within an app: `app.register(agentHost, { prefix: '/agents', adapters: [...] })`. Hooks,
 * parsers and the shape of errors hold for its own routes alone; it starts, drains and closes with the app.
 *
 * @throws HostError `OPTION_INVALID`, `ADAPTER_NOT_FOUND`, `PROJECT_INVALID`
 *
 * @example
 * ```ts
 * export async function addAgents(app: FastifyInstance): Promise<void> {
 *   await app.register(agentHost, { prefix: '/agents', adapters: ['ChatCompatApiAdapter'] })
 * }
 * ```
 */
export async function agentHost(app: FastifyApp, options: AgentHostPluginOptions): Promise<void> {
  if (!isFastify(app)) {
    const suggestions = ['Register it: app.register(agentHost, { ... })']
    throw badOption('agentHost is a plugin of Fastify, and was called with something else.', {
      suggestions,
    })
  }
  const [server, { requireOptions }] = await Promise.all([
    import('./server/server.ts'),
    import('./server/options/options.ts'),
  ])
  requireOptions(options)
  const { prefix: _, ...own } = options
  await server.addToApp(app, own)
}

function isFastify(app: unknown): app is FastifyInstance {
  const { addHook, register } = fieldsOf(app)
  return typeof addHook === 'function' && typeof register === 'function'
}
