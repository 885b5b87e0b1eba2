import type { LLM, Message } from 'agent-host'
import { expect } from 'chai'
import { ChatFields } from '../../../modules/llm/lib/chat-fields.ts'
import ollama from '../../../modules/llm/ollama.ts'
import openai from '../../../modules/llm/openai.ts'
import openaiCompatible from '../../../modules/llm/openai-compatible.ts'
import { Budget } from '../../../modules/orchestrator/lib/budget.ts'
import { callModel } from '../../../modules/orchestrator/lib/call-model.ts'
import { collect } from '../../suites/llm-suite.ts'
import { connectsVendor, type VendorCase } from '../../suites/vendor-suite.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { streams } from '../../support/fake-model-server.ts'
import { makeRun, says } from '../../support/fake-run.ts'
import { chatWire } from '../../support/model-wires.ts'

const ENDPOINTS: readonly VendorCase[] = [
  {
    reference: 'llm/openai-compatible',
    module: openaiCompatible,
    wire: chatWire(),
    config: (url) => ({ base_url: `${url}/v1`, api_key: 'k' }),
    environment: {},
  },
  { reference: 'llm/ollama', module: ollama, wire: chatWire(), config: (url) => ({ base_url: url }), environment: {} },
  {
    reference: 'llm/openai',
    module: openai,
    wire: chatWire(),
    config: (url) => ({ base_url: `${url}/v1`, api: 'chat', api_key: 'k' }),
    environment: {},
  },
]

const call = (id: string, more: object = {}, index = 0) => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'look', arguments: '{}' }, ...more }],
})
const piece = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 }
const signed = { google: { thought_signature: 'c2ln' } }

/** What an endpoint streams, and the message that it gets back in a later turn, without text and names. */
const ANSWERS: Readonly<Record<string, [deltas: object[], back: object]>> = {
  'signatures of calls, also of one that comes in pieces': [
    [
      call('a', { extra_content: signed }),
      call('b', {}, 1),
      call('c', { function: { name: 'look', arguments: '' } }, 2),
      {
        tool_calls: [
          { index: 2, function: { arguments: '{}' }, extra_content: { google: { thought_signature: 'x' } } },
        ],
      },
    ],
    {
      calls: [{ extra_content: signed }, {}, { extra_content: { google: { thought_signature: 'x' } } }],
    },
  ],
  'fields of any name and shape beside a call': [
    [call('a', { extra_content: 'opaque', provider_specific_fields: { thought_signature: 'x' } })],
    { calls: [{ extra_content: 'opaque', provider_specific_fields: { thought_signature: 'x' } }] },
  ],
  'signatures of calls of one id': [
    [1, 2].map((n) => ({
      ...call('a', { function: { name: 'look', arguments: JSON.stringify({ n }) }, extra_content: { n } }, n - 1),
    })),
    {
      calls: [{ extra_content: { n: 1 } }, { extra_content: { n: 2 } }],
    },
  ],
  'blocks of reasoning in pieces, joined': [
    [
      { reasoning: 'I ', reasoning_details: [{ ...piece, text: 'I ' }] },
      { reasoning: 'think', reasoning_details: [{ ...piece, text: 'think' }] },
      { reasoning_details: [{ ...piece, signature: 'c2ln' }] },
      { reasoning_details: [{ ...piece, text: 'And' }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', id: 'r1', index: 1 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'y', id: 'r2', index: 1 }] },
      call('a'),
    ],
    {
      reasoning: 'I think',
      reasoning_details: [
        { ...piece, text: 'I think', signature: 'c2ln' },
        { ...piece, text: 'And' },
        { type: 'reasoning.encrypted', data: 'x', id: 'r1', index: 1 },
        { type: 'reasoning.encrypted', data: 'y', id: 'r2', index: 1 },
      ],
      calls: [{}],
    },
  ],
  'blocks that come behind a text': [
    [
      { reasoning_details: [{ ...piece, text: 'I' }] },
      { content: 'Hm.' },
      { reasoning_details: [{ ...piece, signature: 'x' }] },
      call('a'),
    ],
    { reasoning_details: [{ ...piece, text: 'I', signature: 'x' }], calls: [{}] },
  ],
  'encrypted blocks without any thoughts, and without calls': [
    [{ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }, { content: 'Hm.' }],
    { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
  ],
  'the signature of a text, without its label': [
    [
      { content: 'Hm.', extra_content: { google: { thought: true } } },
      { content: '', extra_content: signed },
    ],
    { extra_content: signed },
  ],
  'thoughts before a call, under the name that the endpoint has for them': [
    [{ reasoning: 'I ' }, { reasoning: 'look.' }, call('a')],
    { reasoning: 'I look.', calls: [{}] },
  ],
  'thoughts before a call, under the usual name': [
    [{ reasoning_content: 'I ' }, { reasoning_content: 'look.' }, { content: 'Hm.' }, call('a')],
    { reasoning_content: 'I look.', calls: [{}] },
  ],
  'no thoughts without a call': [[{ reasoning_content: 'Hm.' }, { content: 'Done.' }], {}],
}

/** Asks, and has the answer go through JSON as stores and tapes have it. */
async function afterAsking(llm: LLM): Promise<Message[]> {
  const { message } = await callModel(llm, { messages: [says('go')] }, new Budget({}, makeRun()))
  const results = (message.toolCalls ?? []).map(
    ({ id }): Message => ({ role: 'tool', content: 'seen', toolCallId: id }),
  )
  const messages = [says('go'), message, ...results, { role: 'assistant' as const, content: 'done' }, says('more')]
  return JSON.parse(JSON.stringify(messages))
}

const sentBack = (body: { messages: object[] } | undefined) => {
  const { role: _role, content: _content, tool_calls, ...back } = (body?.messages[1] ?? {}) as Record<string, unknown>
  const calls = tool_calls as { function: unknown; type: unknown; id: unknown }[] | undefined
  return calls ? { ...back, calls: calls.map(({ function: _f, type: _t, id: _id, ...rest }) => rest) } : back
}

for (const vendor of ENDPOINTS) {
  describe(`${vendor.reference}, when an endpoint wants back what it sent`, () => {
    const connect = connectsVendor(vendor)

    for (const [title, [deltas, back]] of Object.entries(ANSWERS)) {
      it(`gives back ${title}`, async () => {
        const { server, llm } = await connect([streams(deltas, 'calls' in back ? 'tool_calls' : 'stop'), streams([])])
        await collect(llm, { messages: await afterAsking(llm) }).catch(() => {})
        expect(sentBack(server.requests[1]?.body)).to.deep.equal(back)
      })
    }

    it('gives nothing to another endpoint', async () => {
      const deltas = [
        { reasoning: 'I think', reasoning_details: [{ ...piece, text: 'I think' }] },
        { content: 'Hm.' },
        call('a', { extra_content: signed }),
      ]
      const [first, other] = [
        await connect([streams(deltas, 'tool_calls')]),
        await connect([streams([{ content: 'ok' }])]),
      ]
      await collect(other.llm, { messages: await afterAsking(first.llm) })
      expect(sentBack(other.server.requests[0]?.body)).to.deep.equal({ calls: [{}] })
    })

    it('gives thoughts that a client sends with calls, in all turns, and those of other vendors never', async () => {
      const { server, llm } = await connect([streams([{ content: 'ok' }])])
      const ofOther = { text: 'signed', providerMetadata: { anthropic: { signature: 'x' } } }
      const toolCalls = [
        { id: 'a', name: 'look', arguments: {}, providerMetadata: { google: { thoughtSignature: 'x' } } },
      ]
      await collect(llm, {
        messages: [
          says('go'),
          { role: 'assistant', content: '', reasoning: [ofOther, { text: 'I look.' }], toolCalls },
          { role: 'tool', content: 'seen', toolCallId: 'a' },
          says('more'),
        ],
      })
      expect(sentBack(server.requests[0]?.body)).to.deep.equal({ reasoning_content: 'I look.', calls: [{}] })
    })
  })
}

describe('fields that an endpoint wants back', () => {
  it('are put together in the time that they take to read, however many blocks one event has', () => {
    const fields = new ChatFields('endpoint', true)
    const blocks = Array.from({ length: 40_000 }, (_, index) => ({ ...piece, index, text: 'I ' }))
    const spentMs = measureCpuTime()
    for (const reasoning_details of [blocks, [...blocks, { ...piece, index: 39_999, text: 'think' }]])
      fields.hear({ reasoning_details })
    expect(spentMs()).to.be.below(1500)
    const [part] = fields.take(undefined)
    const { reasoning_details: kept } = part?.type === 'reasoning' ? (part.providerMetadata?.endpoint ?? {}) : {}
    expect(kept).to.have.lengthOf(80_000)
    expect((kept as object[]).at(-1)).to.include({ index: 39_999, text: 'I think' })
    expect(blocks.at(-1)).to.include({ text: 'I ' })
  })
})
