import { expect } from 'chai'
import { type Json, makeResponses } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'
import { makeSharedProject, removeFolder } from '../support/temp-project.ts'
import { keysFile, Visitor } from '../support/tenant-visitor.ts'

/** Counts the runs of its agents; it thinks, and calls the tool that the user names, so that there is something to send back. */
const FILES = {
  'agents/counted.yml': `id: counted
modules:
  - { id: llm, module: counted }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/counted.ts': `import { defineModule, LLM } from 'agent-host'
globalThis.asked = 0
export default defineModule({ name: 'Counted', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }) {
    globalThis.asked++
    yield { type: 'reasoning', text: 'I think', providerMetadata: { v: { s: 'A' } } }
    const called = tools.find(({ name }) => name === messages.at(-1).content)
    if (called) yield { type: 'tool_call', call: { id: 'c1', name: called.name, arguments: { input: 'x' } } }
    else yield { type: 'text', text: 'hi' }
    yield { type: 'finish', reason: called ? 'tool_calls' : 'stop' }
  } }) })`,
}
const asked = () => Number(Reflect.get(globalThis, 'asked'))

const user = { role: 'user', content: 'go' }
const find = { type: 'function', name: 'find', parameters: { type: 'object' } }
const note = { type: 'custom', name: 'note' }
const crm = { type: 'namespace', name: 'crm', tools: [find] }
let deep: Json = {}
for (let level = 0; level < 200; level++) deep = { type: 'object', properties: { a: deep } }
const deepText = '['.repeat(5000) + ']'.repeat(5000)
const withDeep = `{"a":${deepText}}`
const call = (text: string) => ({ type: 'function_call', call_id: 'x', name: 'find', arguments: text })
const made = (text: string, id = 'x') => [
  user,
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name: 'find', arguments: text } }],
  },
  { role: 'tool', tool_call_id: id, content: '' },
  user,
]
const foul = '{"__proto__":{"isAdmin":true}}'
const decision = (content: unknown) => ({ messages: [user, { role: 'tool', tool_call_id: 'mcpr_x', content }] })
const said = (text: unknown) => [{ type: 'text', text }]
const slow = { type: 'grammar', syntax: 'regex', definition: '(\\w+\\s?)+!' }
const called = { type: 'custom_tool_call', call_id: 'x', name: 'note', input: 'a' }
const answered = { type: 'function_call_output', call_id: 'x', output: '' }
/** Cannot be made a text: JavaScript throws where it tries to. */
const textless = { toString: null, valueOf: null }
const callWith = (args: unknown) => ({ input: [user, { ...call(''), arguments: args }, answered] })

/** Sealed items: of this tenant, and of others. */
interface Sealed {
  readonly thought: Json
  readonly foreignThought: Json
  readonly summary: Json
  /** Of another server. */
  readonly foreignSummary: Json
  readonly tenantSummary: Json
  /** Id of a response that waits for the output of a custom call. */
  readonly waiting: string
}

const RESPONSES: readonly (readonly [what: string, body: (sealed: Sealed) => object, param: string])[] = [
  ['two tools of one name', () => ({ tools: [find, find] }), 'tools'],
  ['two tools of one name over namespaces', () => ({ tools: [crm, { ...find, name: 'crm__find' }] }), 'tools'],
  ['a schema 200 deep', () => ({ tools: [{ ...find, parameters: deep }] }), 'tools[0].parameters'],
  [
    'a schema 200 deep in a namespace',
    () => ({ tools: [{ ...crm, tools: [{ ...find, parameters: deep }] }] }),
    'tools[0].tools',
  ],
  ['an expression that backtracks', () => ({ tools: [{ ...note, format: slow }] }), 'tools'],
  ['arguments 5,000 deep', () => ({ input: [user, call(withDeep), answered] }), 'input[1].arguments'],
  ['arguments that change prototypes', () => ({ input: [user, call(foul), answered] }), 'input[1].arguments'],
  ['arguments that cannot be a text', () => callWith(textless), 'input[1].arguments'],
  ['arguments that are a list of a text', () => callWith(['{}']), 'input[1].arguments'],
  [
    'the id of an approval that cannot be a text',
    () => ({ input: [{ type: 'mcp_approval_response', approval_request_id: textless, approve: true }] }),
    'input[0].approval_request_id',
  ],
  [
    'a type of a part of an output that cannot be a text',
    () => ({ input: [user, call('{}'), { ...answered, output: [{ type: textless }] }] }),
    'input[2].output[0].type',
  ],
  [
    'an output for a call of the other kind',
    () => ({ input: [user, called, answered], tools: [note] }),
    'input[2].type',
  ],
  [
    'an output for a stored call of the other kind',
    ({ waiting }) => ({ input: [{ ...answered, call_id: 'c1' }], previous_response_id: waiting }),
    'input[0].type',
  ],
  [
    'added tools in a conversation without a user message',
    () => ({ input: [{ type: 'additional_tools', role: 'developer', tools: [find] }] }),
    'input[0]',
  ],
  [
    'a threshold of 0',
    () => ({ context_management: [{ type: 'compaction', compact_threshold: 0 }] }),
    'context_management[0].compact_threshold',
  ],
  [
    'a compaction of another server',
    ({ foreignSummary }) => ({ input: [foreignSummary, user] }),
    'input[0].encrypted_content',
  ],
  [
    'a compaction that was cut',
    ({ summary }) => ({ input: [{ ...summary, encrypted_content: summary.encrypted_content.slice(0, -5) }, user] }),
    'input[0].encrypted_content',
  ],
  [
    'a compaction of another tenant',
    ({ tenantSummary }) => ({ input: [tenantSummary, user] }),
    'input[0].encrypted_content',
  ],
  [
    'the data of reasoning as a compaction',
    ({ thought, summary }) => ({ input: [{ ...summary, encrypted_content: thought.encrypted_content }, user] }),
    'input[0].encrypted_content',
  ],
  [
    'a compaction as the data of reasoning',
    ({ thought, summary }) => ({ input: [user, { ...thought, encrypted_content: summary.encrypted_content }, user] }),
    'input[1].encrypted_content',
  ],
  [
    'reasoning that was cut',
    ({ thought }) => ({
      input: [user, { ...thought, encrypted_content: thought.encrypted_content.slice(0, -5) }, user],
    }),
    'input[1].encrypted_content',
  ],
  [
    'reasoning of another tenant',
    ({ foreignThought }) => ({ input: [foreignThought, user] }),
    'input[0].encrypted_content',
  ],
]

const chatTool = (custom: object) => ({ tools: [{ type: 'custom', custom }] })
const CHAT: readonly (readonly [what: string, body: object, param: string])[] = [
  ['two tools of one name', { tools: [chatTool({ name: 'a' }).tools[0], chatTool({ name: 'a' }).tools[0]] }, 'tools'],
  [
    'a schema 200 deep',
    { tools: [{ type: 'function', function: { name: 'a', parameters: deep } }] },
    'tools[0].function',
  ],
  ['arguments 5,000 deep', { messages: made(withDeep) }, 'messages[1].tool_calls[0].function.arguments'],
  ['arguments that change prototypes', { messages: made(foul) }, 'messages[1].tool_calls[0].function.arguments'],
  ['a decision that cannot be a text', decision(said(textless)), 'messages[1].content[0].text'],
  [
    'the result of a call that cannot be a text',
    { messages: [...made('{}', 'mcpr_x').slice(0, 2), ...decision(said({ a: 1 })).messages.slice(1)] },
    'messages[2].content[0].text',
  ],
  ['a decision 5,000 deep', decision(`{"decision":"edit","arguments":${withDeep}}`), 'messages'],
  [
    'an expression that backtracks',
    chatTool({ name: 'a', format: { type: 'grammar', grammar: { syntax: 'regex', definition: slow.definition } } }),
    'tools',
  ],
]

describe('bad input', () => {
  const keys = keysFile(['acme', 'globex'].map((tenant) => ({ name: tenant, tenant, scopes: ['run'] })))
  let send: (path: string, body: object) => Promise<{ status: number; json: Json }>
  let sealed: Sealed
  const dirs: string[] = []

  before(async () => {
    const adapters = ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter']
    const start = async () => {
      const { dir } = await makeSharedProject({ ...FILES, 'keys.yml': keys })
      dirs.push(dir)
      return (await makeResponses({ adapters, keys: 'keys.yml', projectDir: dir })).listen()
    }
    const [url, otherUrl] = [await start(), await start()]
    const [acme, globex, elsewhere] = [
      new Visitor(url, 'acme', 'acme'),
      new Visitor(url, 'globex', 'globex'),
      new Visitor(otherUrl, 'acme', 'acme'),
    ]
    send = (path, body) => acme.ask('POST', path, { model: 'counted', ...body })
    const ask = async (visitor: Visitor, body: object) =>
      (await visitor.ask('POST', '/v1/responses', { model: 'counted', ...body })).json
    const think = { input: 'go', include: ['reasoning.encrypted_content'] }
    const summarize = { input: [user, { type: 'compaction_trigger' }] }
    sealed = {
      thought: (await ask(acme, think)).output[0],
      foreignThought: (await ask(globex, think)).output[0],
      summary: (await ask(acme, summarize)).output[0],
      foreignSummary: (await ask(elsewhere, summarize)).output[0],
      tenantSummary: (await ask(globex, summarize)).output[0],
      waiting: (await ask(acme, { input: 'note', tools: [note] })).id,
    }
  })
  after(async () => {
    await closeServers()
    for (const dir of dirs.splice(0)) await removeFolder(dir)
  })

  it('gets 400, and no run: arguments that cannot be a text, in the items of a conversation, and in the other dialect', async () => {
    const before = asked()
    const { input: items } = callWith(textless)
    const replies = [await send('/v1/conversations', { items }), await send('/compat/responses', { input: items })]
    expect(replies.map(({ status }) => status)).to.deep.equal([400, 400])
    const details = replies.map(({ json }) => json.detail)
    const sentence = '[1].arguments must be a JSON object, as a string'
    expect(details).to.deep.equal([`items${sentence}`, `input${sentence}`])
    expect(asked() - before).to.equal(0)
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'in one piece', () => {
      for (const [what, body, param] of RESPONSES) {
        it(`gets 400, and no run: ${what}, in responses`, async () => {
          const before = asked()
          const { status, json } = await send('/v1/responses', { input: 'go', stream, ...body(sealed) })
          expect([status, json.error?.param, asked() - before]).to.deep.equal([400, param, 0])
        })
      }
      for (const [what, body, param] of CHAT) {
        it(`gets 400, and no run: ${what}, in chat`, async () => {
          const before = asked()
          const { status, json } = await send('/v1/chat/completions', { messages: [user], stream, ...body })
          expect([status, json.error?.param, asked() - before]).to.deep.equal([400, param, 0])
        })
      }
    })
  }
})
