// Examples of doc comments: `node scripts/fill-examples.js` puts each region into the comment of the export that it is named for.
import {
  type Adapter,
  type AdapterHttp,
  type AdapterOptions,
  type AdapterRuns,
  AgentHost,
  agentHost,
  buildServer,
  ChatMessage,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  openProject,
  type RunResult,
  replay,
  type Static,
  Type,
} from 'agent-host'

// #region AgentHost
export async function ask(question: string): Promise<string> {
  const host = new AgentHost({ projectDir: '.' })
  await host.register({ id: 'echo', modules: [{ id: 'echo', module: 'echo' }] })
  try {
    const { text } = await host.run('echo', question)
    return text
  } finally {
    await host.close()
  }
}
// #endregion

// #region openProject
export async function askAll(questions: readonly string[]): Promise<string[]> {
  const project = await openProject({ projectDir: '.' })
  try {
    const results = await Promise.all(questions.map((question) => project.run('example', question)))
    return results.map(({ text }) => text)
  } finally {
    await project.close()
  }
}
// #endregion

// #region RunResult
export const waiting: RunResult = {
  runId: '01994c3e-5a70-7d6b-8f3a-2b9c1d4e5f60',
  status: 'waiting',
  text: '',
  attachments: [],
  usage: { inputTokens: 120, outputTokens: 18, cachedInputTokens: 0, reasoningTokens: 0 },
  incompleteReason: undefined,
  pending: [
    {
      callId: 'call_1',
      runId: '01994c3e-5a70-7d6b-8f3a-2b9c1d4e5f60',
      kind: 'approval',
      name: 'refund',
      arguments: { order: 'A-1002', euros: 20 },
      digest: '6f1c...',
      schema: { type: 'object', properties: { order: { type: 'string' }, euros: { type: 'number' } } },
    },
  ],
  trail: [
    { role: 'user', content: 'Refund 20 euros for A-1002.' },
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'call_1', name: 'refund', arguments: { order: 'A-1002', euros: 20 } }],
    },
  ],
}
// #endregion

// #region buildServer
export async function serve(): Promise<string> {
  const server = await buildServer({ adapters: ['ChatCompatApiAdapter'], port: 8000 })
  return server.listen()
}
// #endregion

// #region agentHost
export async function addAgents(app: FastifyInstance): Promise<void> {
  await app.register(agentHost, { prefix: '/agents', adapters: ['ChatCompatApiAdapter'] })
}
// #endregion

// #region replay
export async function checkRefund(): Promise<void> {
  const { tools, difference } = await replay('tests/tapes/refund.jsonl.gz')
  if (difference !== null || tools[0]?.name !== 'refund') throw new Error(difference ?? 'There was no refund.')
}
// #endregion

// #region Adapter
export class PingAdapter implements Adapter {
  readonly #options: AdapterOptions

  constructor(options: AdapterOptions) {
    this.#options = options
  }

  adapt(app: FastifyInstance): void {
    const { http } = this.#options
    app.post<{ Body: { agent: string; text: string } }>('/ping', async ({ body }, reply) => {
      const run = http.startTurn(reply, body.agent, { messages: [{ role: 'user', content: body.text }] })
      return { text: (await run.result).text }
    })
  }
}
// #endregion

// #region AdapterHttp
export function addStream(app: FastifyInstance, http: AdapterHttp): void {
  app.post<{ Body: { agent: string; text: string } }>('/stream', (request, reply) => {
    const { agent, text } = request.body
    return http.streamAnswer(request, reply, {
      keepAlive: () => ': still here\n\n',
      keepAliveMs: 15_000,
      failure: () => 'event: failed\ndata: {}\n\n',
      async send(stream) {
        const run = http.startTurn(reply, agent, {
          messages: [{ role: 'user', content: text }],
          onEvent: (event) =>
            event.type === 'text' ? stream.send(`data: ${JSON.stringify(event.text)}\n\n`) : undefined,
        })
        await run.result
        stream.end('event: done\ndata: {}\n\n')
      },
    })
  })
}
// #endregion

// #region ChatMessage
export function addLog(app: FastifyInstance, { http }: AdapterOptions): void {
  const schema = { body: Type.Object({ agent: Type.String(), log: Type.Array(ChatMessage) }) }
  app.post<{ Body: Static<typeof schema.body> }>('/log', { schema }, async ({ body: { agent, log } }, reply) => {
    const run = http.startTurn(reply, agent, { messages: http.readMessages(agent, log) })
    return { text: (await run.result).text }
  })
}
// #endregion

// #region AdapterRuns
export async function startTask(runs: AdapterRuns, tenant: string, text: string): Promise<string> {
  const own = runs.of(tenant)
  const { id } = await own.start({ agent: 'example', messages: [{ role: 'user', content: text }] })
  const outcome = await own.outcome(id)
  return outcome.text
}
// #endregion

// #region AdapterOptions
export async function answer(
  { host, tenantOf }: AdapterOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { text } = await host.run('example', String(request.body), { tenant: tenantOf(request) })
  return reply.send({ text })
}
// #endregion
