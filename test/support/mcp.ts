import type { ServerOptions } from 'agent-host'
import type { Json } from './responses.ts'
import { makeServer } from './server.ts'

/** Agents that show what a call of them was given, and what they can answer with. */
export const MCP_PROJECT = {
  'agents/act.yml':
    'id: act\ntitle: The actor\ndescription: Does what it is told\nmodules: [{ id: main, module: act }]',
  'agents/sum.yml': `id: sum
description: Adds
annotations: { readOnlyHint: true, open_world_hint: false }
input: { type: object, properties: { a: { type: number }, b: { type: number, minimum: 0 } }, required: [a] }
output: { type: object, properties: { sum: { type: number } }, required: [sum] }
modules: [{ id: main, module: sum }]`,
  'agents/guide.yml': 'id: guide\nconversation: true\nmodules: [{ id: main, module: act }]',
  'modules/act.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
const wait = (ms, signal) => new Promise((resolve, reject) => { const timer = setTimeout(resolve, ms); signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason) }) })
const state = (globalThis.actState ??= { begun: [], aborted: [] })
export default defineModule({ name: 'Act', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text, run) {
    const [command, argument] = text.split(' ')
    if (command === 'say') await response.respondText(text.slice(4))
    if (command === 'fail') throw new Error('secret detail')
    if (command === 'count') for (let n = 0; n < Number(argument); n++) { await wait(20, run.signal); if (n > 0) await state.gate; await response.respondText('w' + n + ' ') }
    if (command === 'report') { run.reportProgress('half of it'); await wait(20, run.signal); await response.respondText('all of it') }
    if (command === 'report-much') { for (let n = 0; n < Number(argument); n++) run.reportProgress('.'.repeat(1024)); await response.respondText('done') }
    if (command === 'hang') { state.begun.push(argument ?? ''); try { await response.respondText('begun'); await wait(60_000, run.signal) } catch (error) { state.aborted.push(argument ?? ''); throw error } }
    if (command === 'history') await response.respondText(JSON.stringify((await history.getHistory()).map(({ role, content }) => role + ': ' + content)))
    if (command === 'attach-nothing') await response.respondFile({ mediaType: 'text/csv' })
    if (command === 'attach') {
      await response.respondText('see')
      await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) })
      await response.respondAudio({ mediaType: 'audio/wav', data: new Uint8Array([4]) })
      await response.respondFile({ mediaType: 'text/csv', data: new Uint8Array([5]), name: 'a b.csv' })
      await response.respondFile({ mediaType: 'image/png', data: new URL('https://example.test/x.png'), name: 'x' })
    }
  } }) })`,
  'modules/sum.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Sum', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    const { a, b = 0 } = run.input
    if (a === 13) return void (await response.respondText('unlucky'))
    if (a === 14) return void (await response.respondText('{"sum":"none"}'))
    const json = JSON.stringify({ sum: a + b, text })
    await response.respondText(a === 15 ? '\`\`\`json\\n' + json + '\\n\`\`\`' : json)
  } }) })`,
}

/** State of the agent `act` in this process. */
export interface ActState {
  /** Arguments of the calls that hang, as they begin. */
  readonly begun: string[]
  /** Arguments of the calls that were aborted. */
  readonly aborted: string[]
  /** What `count` waits for after its first word. */
  gate?: Promise<unknown> | undefined
}

export function actState(): ActState {
  const globals = globalThis as { actState?: ActState }
  globals.actState ??= { begun: [], aborted: [] }
  return globals.actState
}

/** A server with the MCP adapter, and short ways to ask it. */
export async function makeMcp(options: Partial<ServerOptions> = {}, files: Readonly<Record<string, string>> = {}) {
  const server = await makeServer({ adapters: ['McpApiAdapter'], ...options }, { ...MCP_PROJECT, ...files })
  /** The answer to any body, as it comes. */
  const post = (payload: string, headers: Readonly<Record<string, string>> = {}, url = '/mcp') =>
    server.app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    })
  const ask = async (message: object, headers: Readonly<Record<string, string>> = {}): Promise<Json> => {
    const reply = await post(JSON.stringify({ jsonrpc: '2.0', ...message }), headers)
    return reply.json()
  }
  let ids = 0
  return {
    ...server,
    post,
    ask,
    /** The answer to a call of a tool. */
    call: (name: string, args: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Json> =>
      ask({ id: ++ids, method: 'tools/call', params: { name, arguments: args } }, headers),
  }
}
