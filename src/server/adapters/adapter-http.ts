import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { DescribeFailure } from '../../assembly/failures.ts'
import type { OpenCall } from '../../durable/adapter-runs/adapter-runs.ts'
import { requireGiven } from '../../given.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Attachment, Message } from '../../protocols/message.ts'
import type { ToolDefinition } from '../../protocols/tool-definition.ts'
import { TURN } from '../../run/checks/given-turn.ts'
import type { RunHandle, Turn } from '../../run/turn.ts'
import type { ChatMessage } from '../bodies/chat-message.ts'
import { type ChosenTools, type ClientChoice, chooseTools } from '../bodies/choose-tools.ts'
import { liftDataUrls } from '../bodies/lift-data-urls.ts'
import { readAddress } from '../bodies/read-address.ts'
import { readIdempotencyKey } from '../bodies/read-idempotency-key.ts'
import { readMessages } from '../bodies/read-messages.ts'
import { readTraceparent } from '../bodies/read-traceparent.ts'
import { identify, type Sender } from '../guards/principal.ts'
import { describeOpen } from '../inbox/describe-open.ts'
import { type Decider, deciderOf } from '../inbox/may-decide.ts'
import { describeRoutes, type RouteMakers, type RouteTable, type RouteTag } from '../openapi/describe-routes.ts'
import { baseUrlOf } from '../replies/base-url-of.ts'
import type { ErrorDialect } from '../replies/dialect.ts'
import { makeErrorHandler } from '../replies/error-replies.ts'
import type { EventStreams } from '../streams/event-streams.ts'
import { type StreamedAnswer, startTurn, streamAnswer, whenClientLeaves } from '../streams/serve-turn.ts'

/**
 * Parts of the server with which an adapter answers requests: built-in adapters use the same.
 *
 * @example
 * ```ts
 * export function addStream(app: FastifyInstance, http: AdapterHttp): void {
 *   app.post<{ Body: { agent: string; text: string } }>('/stream', (request, reply) => {
 *     const { agent, text } = request.body
 *     return http.streamAnswer(request, reply, {
 *       keepAlive: () => ': still here\n\n',
 *       keepAliveMs: 15_000,
 *       failure: () => 'event: failed\ndata: {}\n\n',
 *       async send(stream) {
 *         const run = http.startTurn(reply, agent, {
 *           messages: [{ role: 'user', content: text }],
 *           onEvent: (event) =>
 *             event.type === 'text' ? stream.send(`data: ${JSON.stringify(event.text)}\n\n`) : undefined,
 *         })
 *         await run.result
 *         stream.end('event: done\ndata: {}\n\n')
 *       },
 *     })
 *   })
 * }
 * ```
 */
export interface AdapterHttp {
  /**
   * Starts a turn for the client of a request, and aborts it when that client leaves.
   *
   * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN`, and `REQUEST_INVALID` for a turn of a wrong kind: before a head is sent, so that they are
   *   answered with their status
   */
  startTurn(reply: FastifyReply, agent: string, turn: Turn): RunHandle
  /** Answers with a stream of events, which always ends with a last frame of its protocol. */
  streamAnswer(request: FastifyRequest, reply: FastifyReply, answer: StreamedAnswer): Promise<FastifyReply>
  /** Calls back when the client leaves before it has its answer; at once when it has left already. */
  whenClientLeaves(reply: FastifyReply, onLeave: (reason: Error) => void): void
  /** Answers the errors of the routes of an app in the format of a protocol, those of a missing key or a wrong body included. */
  answerErrors(app: FastifyInstance, toErrorReply: ErrorDialect): void
  /**
   * Names the sender of a request that the adapter has verified, by a signature for example: its decisions are recorded under this name,
   * and its runs belong to this tenant. Name and tenant are as in a file of keys.
   *
   * @throws HostError `REQUEST_INVALID`
   */
  identify(request: FastifyRequest, sender: Sender): void
  /** Returns the sender of the decisions of a request, and the checks of what it may decide. */
  deciderOf(request: FastifyRequest): Decider
  /**
   * Returns a maker for each route of a table: `app.route(routes.getTask(handler))`. What the table says of a route checks its requests, gives
   * their types, and is its entry in `/openapi.json`.
   */
  describeRoutes<const T extends RouteTable>(tag: RouteTag, table: T): RouteMakers<T>
  /** Returns options of a route whose bodies hold data URLs: their bytes are decoded while they arrive, for {@link AdapterHttp.readAddress}. */
  liftDataUrls(): Pick<RouteShorthandOptions, 'preParsing' | 'preHandler'>
  /**
   * Reads an attachment from an address in a body: the bytes of a data URL; any other address as it is, never fetched.
   *
   * @param fallback media type of an address without a known extension
   * @throws HostError `REQUEST_INVALID` naming the field
   */
  readAddress(address: unknown, field: string, fallback: string, name?: string): Attachment
  /**
   * Reads a conversation with parts, checked against the schema `ChatMessage`, for the `messages` of a turn: what the agent does not take of the last message
   * of the user is refused, and in earlier ones left out. Each call has one answer, and each answer its call.
   *
   * @throws HostError `REQUEST_INVALID` naming the field
   */
  readMessages(agent: string, messages: readonly ChatMessage[]): Message[]
  /** Returns the W3C trace context of a request, for its turn; undefined for none, and for one that is invalid. */
  traceparentOf(request: FastifyRequest): string | undefined
  /**
   * Returns the `Idempotency-Key` of a request, for `TenantRuns.once`: as its sender chose it, apart from the keys of others.
   *
   * @throws HostError `REQUEST_INVALID` for one that is empty or longer than 255 characters
   */
  idempotencyKeyOf(request: FastifyRequest): string | undefined
  /**
   * Applies a client's choice to its tools, for the `clientTools` of a turn and the `toolChoice` of its `requestOptions`. `none` hides the client's;
   * `required`, and a name that the client's do not have, may mean a tool of the agent.
   *
   * @throws HostError `REQUEST_INVALID` for a choice that cannot be met
   */
  chooseTools(agent: string, tools: readonly ToolDefinition[], choice: ClientChoice): ChosenTools
  /**
   * Returns the text that announces calls which wait for a person, and where to decide them.
   *
   * @param path of the route, by which the address of the inbox is found
   */
  describeOpen(open: readonly OpenCall[], request: FastifyRequest, path: string): string
}

export interface AdapterHttpParts {
  readonly host: AgentHost
  readonly streams: EventStreams
  readonly describeFailure: DescribeFailure
  readonly requiresKey: boolean
  readonly servesInbox: boolean
}

export function makeAdapterHttp({
  host,
  streams,
  describeFailure,
  requiresKey,
  servesInbox,
}: AdapterHttpParts): AdapterHttp {
  return Object.freeze<AdapterHttp>({
    startTurn(reply, agent, turn) {
      requireGiven(TURN, turn, 'turn')
      return startTurn(reply, host, agent, turn)
    },
    streamAnswer: (request, reply, answer) => streamAnswer(request, reply, streams, answer),
    whenClientLeaves,
    answerErrors: (app, toErrorReply) => void app.setErrorHandler(makeErrorHandler(describeFailure, { toErrorReply })),
    identify,
    deciderOf,
    liftDataUrls,
    readAddress,
    readMessages: (agent, messages) => readMessages(messages, () => host.resolve(agent).capabilities),
    idempotencyKeyOf: readIdempotencyKey,
    traceparentOf: ({ headers }) => readTraceparent(headers.traceparent),
    chooseTools: (agent, tools, choice) =>
      chooseTools(tools, choice, { isExtended: true }, () => host.resolve(agent).capabilities),
    describeOpen: (open, request, path) =>
      describeOpen(open, servesInbox ? `${baseUrlOf(request, path)}/compat` : undefined),
    describeRoutes: (tag, table) => describeRoutes({ ...tag, keyOf: requiresKey ? 'file' : undefined }, table),
  })
}
