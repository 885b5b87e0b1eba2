import {
  type Adapter,
  type AdapterOptions,
  type BegunRequest,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  HostError,
  type StoredRunInfo,
  type TenantRuns,
  Type,
} from 'agent-host'
import { AnsweringRun } from './answering-run.ts'
import { KnownAgents } from './known-agents.ts'
import { abandonsQuestion, refuseRepeated } from './read-answers.ts'
import { keptOf, readTurn } from './read-turn.ts'
import { Refused, RunAgentInput, RunEvents } from './run-input.ts'

const ROUTES = {
  runAgent: {
    method: 'POST',
    path: '/ag-ui/*',
    wildcard: 'agent',
    summary: 'Run an agent',
    description: 'Runs the next turn of a thread, and answers with the events of AG-UI 1.0.',
    schema: { params: Type.Object({ '*': Type.String() }), body: RunAgentInput },
    events: RunEvents,
    errors: [404, 409],
  },
} as const

/** Maximum number of kinds of parts that a header names. */
const MAX_NAMED = 10

type RunRequest = FastifyRequest<{ Body: RunAgentInput; Params: { '*': string } }>

/** One request, as it was read. */
interface Asked {
  readonly agent: string
  readonly input: RunAgentInput
  readonly own: TenantRuns
  /** Key of the conversation: the client's id is data, and another key, or agent, has other threads. */
  readonly thread: string
  /** Name of the one who answers. */
  readonly by: string
}

/** Serves agents over AG-UI 1.0: `POST /ag-ui/<agent>`. */
export class AgUiAdapter implements Adapter {
  static readonly key = { variable: 'AG_UI_API_KEY' }
  readonly #options: AdapterOptions
  readonly #agents: KnownAgents

  constructor(options: AdapterOptions) {
    this.#options = options
    this.#agents = new KnownAgents(options.host)
  }

  adapt(app: FastifyInstance): void {
    const { http } = this.#options
    http.answerErrors(app, ({ statusCode, detail: message }, error) => {
      const { code } = error instanceof HostError ? error : {}
      return { statusCode: code === 'AGENT_NOT_FOUND' ? 404 : statusCode, body: { type: 'RUN_ERROR', message, code } }
    })
    const group = { tag: 'AG-UI', errors: [400, 401, 403, 500, 503], error: Refused, schemas: { RunAgentInput } }
    const { runAgent } = http.describeRoutes(group, ROUTES)
    app.route(runAgent((request, reply) => this.#answer(request as RunRequest, reply)))
  }

  async #answer(request: RunRequest, reply: FastifyReply): Promise<unknown> {
    const { http, host, runs, tenantOf, variantOf } = this.#options
    const { params, body: input } = request
    const agent = params['*']
    const { agent: info, capabilities } = host.resolve(agent)
    const decider = http.deciderOf(request)
    const { resume = [] } = input
    if (resume.length > 0) decider.requireMayDecide()
    refuseRepeated(resume)
    const own = runs.of(tenantOf(request))
    const thread = JSON.stringify([decider.keyName ?? null, agent, input.threadId])
    const asked: Asked = { agent, input, own, thread, by: decider.by }
    const latest = await own.latest(thread)
    const answering = this.#prepare(info.id, asked, latest)
    if (latest && abandonsQuestion(resume, latest.open)) {
      await own.cancel(latest.id)
      return answering.cancel(request, reply)
    }
    const ignored = new Set<string>()
    const added = readTurn(input, latest, { capabilities, readAddress: http.readAddress, ignored })
    if (ignored.size > 0) reply.header('x-ignored', [...ignored].slice(0, MAX_NAMED).join(', '))
    if (!added) return answering.replay(request, reply, latest as StoredRunInfo)
    const [variant, traceparent] = [await variantOf(request, agent), http.traceparentOf(request)]
    return answering.begin(request, reply, {
      ...toRequest(asked, capabilities.takesClientTools),
      ...added,
      variant,
      traceparent,
    })
  }

  #prepare(id: string, { agent, input, own }: Asked, latest: StoredRunInfo | undefined): AnsweringRun {
    const open = latest?.open.flatMap(({ call: { callId, within = callId } }) => [callId, within]) ?? []
    const known = new Set([...open, ...input.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))])
    return new AnsweringRun({ ...this.#options, agent, input, own, known, facts: this.#agents.factsOf(id) })
  }
}

function toRequest({ agent, input, thread, by }: Asked, takesClientTools: boolean): Omit<BegunRequest, 'messages'> {
  const { tools = [], context = [], forwardedProps } = input
  const instructions = context.map(({ description, value }) => `${description}: ${value}`).join('\n')
  const clientTools = tools.map(({ name, description = '', parameters = {} }) => {
    return { name, description, parameters: { type: 'object', ...parameters } }
  })
  return {
    agent,
    thread,
    by,
    data: keptOf(input),
    ...(instructions === '' ? {} : { instructions }),
    ...(takesClientTools ? { clientTools } : {}),
    ...(forwardedProps === undefined ? {} : { metadata: { forwardedProps } }),
  }
}
