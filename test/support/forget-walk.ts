import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { keysFile, type Visitor } from './tenant-visitor.ts'
import { TENANT_PROJECT } from './tenant-walk.ts'

/** Agents that keep what users say in every place that there is. */
export const FORGET_PROJECT = {
  ...TENANT_PROJECT,
  'agents/teller.yml': TENANT_PROJECT['agents/teller.yml'].replace(
    'module: memory/vector-memory',
    'module: memory/vector-memory, config: { per_user: true }',
  ),
  'modules/tell-all.ts': `import { ConversationHistory, defineModule, Memory, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'TellAll', provides: [TextMessageHandler],
  uses: { response: Response, memory: Memory, history: ConversationHistory },
  create: ({ response, memory, history }) => ({ async handleText(text, run) {
    await memory.store(text, { text }, run)
    await history.getHistory(run)
    await response.respondText('heard ' + text)
  } }) })`,
  'agents/short.yml': `id: short
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ text: done }] } }
  - { id: sum, module: sum-up }
  - { id: brief, module: conversation/summarizing, config: { max_tokens: 1, keep_messages: 1 } }
  - { id: loop, module: orchestrator/tool-loop }
exchange:
  - { module: brief, protocol: LLM, provider: sum }
  - { module: loop, protocol: LLM, provider: llm }`,
  'modules/sum-up.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'SumUp', provides: [LLM], create: () => ({ async *generate({ messages }) {
  yield { type: 'text', text: messages.map(({ content }) => content).join(' ') } } }) })`,
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
  'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]',
  'modules/slow.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, run) {
    await response.respondText('heard ' + text)
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, 60000)
      run.signal.addEventListener('abort', () => { clearTimeout(timer); reject(run.signal.reason) })
    })
  } }) })`,
}

export const FORGET_KEYS = keysFile([
  { name: 'acme', tenant: 'acme', scopes: ['run', 'approve', 'debug', 'forget'] },
  { name: 'ci', tenant: 'acme', scopes: ['run'] },
  { name: 'nobody', scopes: ['run', 'approve', 'debug', 'forget'] },
])

export const FORGET_OPTIONS: Partial<ServerOptions> = {
  adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'],
  debug: true,
  record: 1,
  keys: 'keys.yml',
}

/** Has a user say a word in every place of a server that keeps something. @returns ids of what is stored, and of a run in progress */
export async function sayEverywhere(visitor: Visitor, user: string, word: string) {
  const respond = async (model: string, more: object = {}, headers = {}) => {
    const body = { model, input: word, user, metadata: { conversation_id: word }, ...more }
    const { status, json, body: text } = await visitor.ask('POST', '/v1/responses', body, headers)
    expect(status, text).to.equal(200)
    return json
  }
  const conversation = (await visitor.ask('POST', '/v1/conversations', { items: [{ role: 'user', content: word }] }))
    .json.id
  const first = await respond('teller', {}, { 'idempotency-key': word })
  const second = await respond('teller', { previous_response_id: first.id })
  // Goes on from theirs, and names no user.
  const unnamed = await respond('echo', { previous_response_id: second.id, user: undefined })
  const inConversation = [await respond('teller', { conversation }), await respond('teller', { conversation })]
  // Its turn stays behind the later one.
  await visitor.ask('DELETE', `/v1/responses/${inConversation[0].id}`)
  const image = Buffer.from(word.repeat(10_000)).toString('base64')
  const picture = { type: 'input_image', image_url: `data:image/png;base64,${image}` }
  const seen = await respond('short', {
    input: [{ role: 'user', content: [{ type: 'input_text', text: word }, picture] }],
  })
  const shop = await respond('shop')
  const clerk = await respond('clerk')
  const turn = { role: 'user', content: word }
  const long = await respond('short', { input: [turn, { ...turn, role: 'assistant' }, turn] })
  const background = await respond('slow', { background: true })
  const chat = { user, messages: [{ role: 'user', content: word }] }
  await visitor.ask('POST', '/v1/chat/completions', { model: 'teller', ...chat })
  const leaving = visitor.ask('POST', '/v1/chat/completions', { model: 'slow', ...chat })
  await eventually(async () => {
    const { runs } = (await visitor.graphql('{ runs(filter: { agent_id: "slow" }) { runs { status user } } }')).data
    const own = runs.runs.filter((run: { user: string }) => run.user === user)
    expect(own.map(({ status }: { status: string }) => status)).to.include.members(['running', 'running'])
  })
  return {
    responses: [second, unnamed, inConversation[1], seen, shop, clerk, long, background].map(({ id }) => id as string),
    conversation,
    leaving,
  }
}

/** The files of a project that have a word, those that it began with left out. */
export function filesWith(dir: string, word: string): string[] {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return files.filter((path) => {
    const bytes = readFileSync(path)
    const isPacked = path.endsWith('.gz') || path.endsWith('.part')
    return (isPacked ? gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes).includes(word)
  })
}
