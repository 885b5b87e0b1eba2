import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { type Json, makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

// Sends each member of the vendor's request types, and compares the answer with the table of the docs: its status, what is named as ignored,
// and whether the model is given anything.

/** Its model answers with the request that it was given. */
const FILES = {
  'agents/mirror.yml': `id: mirror
modules:
  - { id: llm, module: mirror }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/mirror.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Mirror', provides: [LLM], create: () => ({
  async *generate(request) {
    yield { type: 'reasoning', text: 'hm', providerMetadata: { v: { s: 'A' } } }
    yield { type: 'text', text: JSON.stringify(request) }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
}

const user = { type: 'message', role: 'user', content: 'go' }
const tool = { type: 'function', name: 'a', parameters: { type: 'object' } }
const call = { call_id: 'c', name: 'a' }
const called = [
  { type: 'function_call', ...call, arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: 'x' },
]
const calledWithText = [
  { type: 'custom_tool_call', ...call, input: 'b' },
  { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
]

/** What members need that the server gives. */
interface Given {
  readonly responseId: string
  readonly conversationId: string
  readonly thought: Json
  readonly summary: Json
}

/** Items behind a user message, for types that need more than their type. Messages are there without the part, too. */
const ITEMS = ({ thought, summary }: Given): Readonly<Record<string, readonly object[]>> => ({
  message: [{ ...user, content: 'again' }],
  function_call: called,
  function_call_output: called,
  custom_tool_call: calledWithText,
  custom_tool_call_output: calledWithText,
  mcp_call: [{ type: 'mcp_call', id: 'm', name: 'a', arguments: '{}', output: 'x' }],
  image_generation_call: [
    { role: 'assistant', content: 'Look.' },
    { type: 'image_generation_call', id: 'i', status: 'completed', result: 'iVBORw0KGgo=' },
  ],
  item_reference: [{ type: 'item_reference', id: 'msg_none' }],
  additional_tools: [{ type: 'additional_tools', tools: [tool] }],
  compaction: [summary, user],
  reasoning: [thought, { role: 'assistant', content: 'hi' }],
})

/** Values of fields, with what else the request needs for an effect. */
const FIELDS = ({ responseId, conversationId }: Given): Readonly<Record<string, object>> => ({
  background: { background: true },
  conversation: { conversation: conversationId },
  include: { include: [] },
  input: { input: 'go' },
  metadata: { metadata: { a: 'b' } },
  model: { model: 'mirror' },
  previous_response_id: { previous_response_id: responseId },
  store: { store: false },
  stream: {},
  tools: { tools: [tool] },
  truncation: { truncation: 'auto' },
  user: { user: 'u' },
  max_tool_calls: { max_tool_calls: 1 },
  instructions: { instructions: 'Be kind.' },
  parallel_tool_calls: { parallel_tool_calls: false, tools: [tool] },
  reasoning: { reasoning: { effort: 'low' } },
  text: { text: { verbosity: 'low' } },
  tool_choice: { tool_choice: 'none', tools: [tool] },
  frequency_penalty: { frequency_penalty: 1 },
  max_output_tokens: { max_output_tokens: 9 },
  presence_penalty: { presence_penalty: 1 },
  temperature: { temperature: 1 },
  top_p: { top_p: 0.5 },
  prompt_cache_key: { prompt_cache_key: 'k' },
  safety_identifier: { safety_identifier: 's' },
  service_tier: { service_tier: 'flex' },
  context_management: { context_management: [{ type: 'compaction', compact_threshold: 10_000 }] },
  prompt_cache_options: { prompt_cache_options: { mode: 'x' } },
  prompt_cache_retention: { prompt_cache_retention: '24h' },
  top_logprobs: { top_logprobs: 1 },
  stream_options: { stream_options: { include_obfuscation: false } },
  access_programs: { access_programs: { cyber: 'standard' } },
  image: { image: { detail: 'low' } },
  moderation: { moderation: { model: 'm' } },
  prompt: { prompt: { id: 'p' } },
})

interface Probe {
  readonly member: string
  readonly decision: string
  /** Name of the part in the header. */
  readonly place: string
  readonly body: object
  /** The same request without the part. */
  readonly without: object
}

function listProbes(given: Given): Probe[] {
  const tools = readDecisions('tool').map(({ member, decision }) => {
    const more = member === 'namespace' ? { tools: [tool] } : {}
    const body = { tools: [{ type: member, name: 'a', description: 'A', ...more }] }
    return { member, decision, place: `tools[0] (${member})`, body, without: {} }
  })
  const itemsOf = ITEMS(given)
  const items = readDecisions('input item').map(({ member, decision }) => {
    const added = itemsOf[member] ?? [{ type: member }]
    const kept = added.filter((item) => 'role' in item && member !== 'message')
    const [body, without] = [{ input: [user, ...added] }, { input: [user, ...kept] }]
    return { member, decision, place: `input[${added.length}] (${member})`, body, without }
  })
  const includes = readDecisions('include').map(({ member, decision }) => {
    return { member, decision, place: `include[0] (${member})`, body: { include: [member] }, without: {} }
  })
  const bodies = FIELDS(given)
  const fields = readDecisions('field').map(({ member, decision }) => {
    const body = bodies[member]
    if (!body) throw new Error(`There is no value for the field '${member}'.`)
    const without = Object.fromEntries(Object.entries(body).filter(([field]) => field !== member))
    return { member, decision, place: member, body, without }
  })
  return [...tools, ...items, ...includes, ...fields]
}

/** Effects of the parts of one kind, in the table of the docs. */
function readDecisions(kind: string): { member: string; decision: string }[] {
  const docs = readFileSync(new URL('../../../docs/responses.md', import.meta.url), 'utf8')
  return docs.split('\n').flatMap((line) => {
    const [, name, members = '', decision = ''] = line.split('|').map((cell) => cell.trim())
    return name === kind ? members.split(', ').map((member) => ({ member: member.replaceAll('`', ''), decision })) : []
  })
}

describe('each part of a request for a response', () => {
  let given: Given
  let post: (path: string, body: object) => Promise<{ status: number; named: unknown; record: Json }>

  beforeEach(async () => {
    const { app } = await makeResponses({}, FILES)
    post = async (url, body) => {
      const reply = await app.inject({ method: 'POST', url, payload: { model: 'mirror', input: 'go', ...body } })
      const { statusCode: status, headers, body: text } = reply
      const last = text.split('\n').findLast((line) => line.startsWith('data: {'))
      return { status, named: headers['x-ignored'], record: last ? JSON.parse(last.slice(6)).response : reply.json() }
    }
    const create = async (body: object) => (await post('/v1/responses', body)).record
    const conversation = await app.inject({ method: 'POST', url: '/v1/conversations', payload: {} })
    const first = await create({ include: ['reasoning.encrypted_content'] })
    const compacted = await create({ input: [user, { type: 'compaction_trigger' }] })
    given = {
      responseId: first.id,
      conversationId: conversation.json().id,
      thought: first.output[0],
      summary: compacted.output[0],
    }
  })
  afterEach(closeServers)

  /** Text of the answer: the request that the model was given. */
  const givenTo = ({ record }: { record: Json }) =>
    record.output.flatMap(({ type, content }: Json) => (type === 'message' ? [content[0].text] : [])).join('')

  for (const prefix of ['/v1', '/compat']) {
    for (const stream of [false, true]) {
      it(`has the effect that the docs tell, under ${prefix}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const ask = (body: object) => post(`${prefix}/responses`, { stream, ...body })
        for (const { member, decision, place, body, without } of listProbes(given)) {
          const seen = await ask(body)
          const isRefused = decision === 'refused' && (prefix === '/v1' || member === 'prompt')
          // No call waits for the decision.
          const isUnknown = member === 'mcp_approval_response'
          const hasNoEffect = decision === 'ignored' || decision === 'refused'
          expect(
            [seen.status, seen.named],
            `${place} ${JSON.stringify(seen.record.error ?? seen.record.detail ?? '')}`,
          ).to.deep.equal([isRefused || isUnknown ? 400 : 200, hasNoEffect && !isRefused ? place : undefined])
          if (seen.status === 200 && decision !== 'honoured') {
            const isGiven = givenTo(seen) !== givenTo(await ask(without))
            expect(isGiven, `${place} is given to the model`).to.equal(decision === 'given to the model')
          }
        }
      })
    }
  }
})
