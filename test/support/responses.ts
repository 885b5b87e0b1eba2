import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { readAsItComes } from './read-stream.ts'
import { makeServer, readEvents } from './server.ts'

export { talkState } from './talk-state.ts'

export const RESPONSES = '/compat/responses'

/** Agents that say something about what they were given. */
export const RESPONSES_PROJECT = {
  'agents/talk.yml': 'id: talk\nmodules: [{ id: main, module: talk }]',
  'agents/tools.yml': `id: tools
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [
      { text: Let me see., tool_calls: [{ name: add, arguments: { a: 1, b: 2 } }] }, { text: It is 3. } ] } }
  - { id: tools, module: tools/local, config: { files: [tools/add.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'tools/add.ts': `import { defineTool, Type } from 'agent-host'
export const add = defineTool({ description: 'Adds two numbers.', parameters: Type.Object({ a: Type.Number(), b: Type.Number() }), execute: ({ a, b }) => String(a + b) })`,
  // 'say a b' answers 'a b' word by word; 'count 3' 'w0 w1 w2 ' with a pause before each; others as they are called.
  'modules/talk.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
const wait = (ms, signal) => new Promise((resolve, reject) => {
  const stop = () => { clearTimeout(timer); reject(signal.reason) }
  const timer = setTimeout(() => { signal.removeEventListener('abort', stop); resolve() }, ms)
  signal.addEventListener('abort', stop) })
const state = (globalThis.talkState ??= { runs: 0, aborted: 0 })
export default defineModule({ name: 'Talk', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text, run) {
    state.runs++
    const [command, argument] = text.split(' ')
    try {
      if (command === 'say') for (const word of text.split(' ').slice(1)) await response.respondText(word + ' ')
      if (command === 'count') for (let n = 0; n < Number(argument); n++) { await wait(15, run.signal); await response.respondText('w' + n + ' ') }
      if (command === 'hang') { await response.respondText('begun '); await wait(60_000, run.signal) }
      if (command === 'fail') throw new Error('secret detail')
      if (command === 'fail-after') { await response.respondText('part'); await wait(10, run.signal); throw new Error('secret detail') }
      if (command === 'history') await response.respondText(JSON.stringify((await history.getHistory()).map(({ role, content }) => role + ': ' + content)))
      if (command === 'facts') await response.respondText(JSON.stringify([run.id, run.instructions ?? null, run.user ?? null, run.metadata]))
      if (command === 'limit') { run.markIncomplete('max_steps'); await response.respondText('cut') }
      if (command === 'flood') for (let n = 0; n < Number(argument); n++) await response.respondText(String(n).padStart(1024, '.'))
      if (command === 'bye') await response.respondText('ok')
      run.addUsage({ inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 1 })
    } catch (error) { if (run.signal.aborted) state.aborted++; throw error }
  } }) })`,
}

// biome-ignore lint/suspicious/noExplicitAny: wire JSON, as a client without types has it
export type Json = any

/** A server with the responses adapter, and short ways to ask it. */
export async function makeResponses(
  options: Partial<ServerOptions> = {},
  files: Readonly<Record<string, string>> = {},
) {
  const server = await makeServer(
    { adapters: ['ResponsesCompatApiAdapter'], ...options },
    { ...RESPONSES_PROJECT, ...files },
  )
  const inject = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: unknown, headers = {}) => {
    const reply = await server.app.inject({
      method,
      url: RESPONSES + path,
      headers,
      ...(payload === undefined ? {} : { payload: payload as object }),
    })
    return reply
  }
  const asked = (input: unknown, more: object = {}) => ({ model: 'talk', input, ...more })
  return {
    ...server,
    inject,
    /** The record of a response that was created. */
    async create(input: unknown, more: object = {}): Promise<Json> {
      return (await inject('POST', '', asked(input, more))).json()
    },
    /** The events of a response that was created. */
    async stream(input: unknown, more: object = {}): Promise<Json[]> {
      return readEvents((await inject('POST', '', asked(input, { stream: true, ...more }))).body)
    },
    async get(id: string, query = ''): Promise<Json> {
      return (await inject('GET', `/${id}${query}`)).json()
    },
    async join(id: string, after?: number): Promise<Json[]> {
      const query = after === undefined ? '' : `&starting_after=${after}`
      return readEvents((await inject('GET', `/${id}?stream=true${query}`)).body)
    },
    /** The record once it is not running any more. */
    async whenEnded(id: string): Promise<Json> {
      let record: Json
      await eventually(async () => {
        record = (await inject('GET', `/${id}`)).json()
        expect(record.status).to.not.equal('in_progress')
      })
      return record
    },
  }
}

/** What a response says. */
export function textOf(record: Json): string {
  return record.output.map((item: Json) => item.content?.[0].text ?? '').join('')
}

/** A stream as a client reads it: what arrived so far, and a way to leave. */
export interface OpenStream {
  events(): Json[]
  leave(): void
  readonly status: number
  readonly done: Promise<void>
}

export async function openStream(
  url: string,
  body?: object,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): Promise<OpenStream> {
  const leaving = new AbortController()
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const reply = await fetch(url, { ...init, headers, signal: leaving.signal })
  const { text, done } = readAsItComes(reply)
  return {
    events: () => readEvents(text().slice(0, text().lastIndexOf('\n\n') + 2)),
    leave: () => leaving.abort(),
    status: reply.status,
    done,
  }
}
