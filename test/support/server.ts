import type { ServerOptions } from 'agent-host'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { openReplicas } from './replicas.ts'
import { makeProject, type TempProject } from './temp-project.ts'

export const AGENTS = {
  'agents/echo.yml': 'id: echo\ndescription: Says it again\nmodules: [{ id: main, module: echo }]',
  'agents/model.yml': `id: model
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ text: one two, usage: { input_tokens: 3, output_tokens: 2 } }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/desk.yml': `id: desk
modules:
  - { id: support, module: echo, config: { prefix: 'support ' } }
  - { id: sales, module: echo, config: { prefix: 'sales ' } }
exchange: [{ module: __entry__, protocol: TextMessageHandler, provider: [support, sales] }]`,
  'agents/probe.yml': 'id: probe\nmodules: [{ id: main, module: probe }]',
  'modules/probe.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
import { spawn } from 'node:child_process'
const seen = (globalThis.probeSeen ??= [])
const wait = (ms, signal) => new Promise((resolve, reject) => { setTimeout(resolve, ms); signal.addEventListener('abort', () => reject(signal.reason)) })
export default defineModule({ name: 'Probe', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text, run) {
    const [command, argument] = text.split(' ')
    if (command === 'fail') throw new Error('secret detail')
    if (command === 'fail-after') { await response.respondText('part'); throw new Error('secret detail') }
    if (command === 'facts') await response.respondText(JSON.stringify([run.user ?? null, run.metadata, await history.getHistory()]))
    if (command === 'wait') { try { seen.push('began ' + argument); await wait(Number(argument), run.signal); await response.respondText('waited') } catch (error) { seen.push('aborted ' + argument); throw error } }
    if (command === 'flood') { for (let n = 0; n < Number(argument); n++) await response.respondText(String(n).padStart(1024, '.')) }
    if (command === 'burst') { for (let n = 0; n < Number(argument); n++) response.respondText(String(n).padStart(1024, '.')) }
    if (command === 'deaf') { await response.respondText('begun'); await new Promise(() => {}) }
    if (command === 'float') { Promise.reject(new Error('floated')); setTimeout(() => { throw new Error('late') }, 5); spawn('/no/such/program'); await response.respondText('floated') }
    if (command === 'image') await response.respondImage({ mediaType: 'image/png', data: new URL('https://example.test/a.png'), name: 'A' })
  } }) })`,
}

/** What the probe has noticed, in this process. */
export function probeSeen(): string[] {
  const globals = globalThis as { probeSeen?: string[] }
  globals.probeSeen ??= []
  return globals.probeSeen
}

const open: BuiltServer[] = []

/**
 * A server with the chat adapter over a temporary project; closed by {@link closeServers}. With a store in `AGENT_HOST_TEST_STORE` three
 * processes stand in for it, and it has only what clients see.
 */
export async function makeServer(
  options: Partial<ServerOptions> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<BuiltServer & { project: TempProject }> {
  const project = await makeProject({ ...AGENTS, ...files })
  const settings = {
    projectDir: project.dir,
    adapters: ['ChatCompatApiAdapter'],
    port: 0,
    logLevel: 'silent',
    drainTimeout: 0,
    ...options,
  } as const
  const { AGENT_HOST_TEST_STORE: store } = process.env
  const server = store ? await openAsOne(settings, store) : await buildServer(settings)
  open.push(server)
  return { ...server, project }
}

/** Servers behind a proxy, in place of one: the suites that run this way use only what clients see. */
async function openAsOne(settings: Partial<ServerOptions>, store: string): Promise<BuiltServer> {
  const replicas: object = await openReplicas(settings, store)
  return replicas as BuiltServer
}

export async function closeServers(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close()))
}

/** The body of a chat request with one message. */
export function chat(model: string, content: unknown, more: object = {}): object {
  return { model, messages: [{ role: 'user', content }], ...more }
}

/** The data of each event of a stream, parsed but for `[DONE]`. */
export function readEvents(body: string): unknown[] {
  const events = body.split('\n\n').filter((event) => event !== '')
  return events.map((event) => (event === 'data: [DONE]' ? '[DONE]' : JSON.parse(event.replace(/^data: /, ''))))
}
