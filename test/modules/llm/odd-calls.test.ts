import { expect } from 'chai'
import anthropic from '../../../modules/llm/anthropic.ts'
import { ChatCalls } from '../../../modules/llm/lib/chat-calls.ts'
import ollama from '../../../modules/llm/ollama.ts'
import openai from '../../../modules/llm/openai.ts'
import openaiCompatible from '../../../modules/llm/openai-compatible.ts'
import { collect } from '../../suites/llm-suite.ts'
import { connectsVendor, type VendorCase } from '../../suites/vendor-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { sends } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'
import { anthropicWire, chatWire } from '../../support/model-wires.ts'

type Piece = { index?: unknown; id?: unknown; function?: unknown; [name: string]: unknown }

const begins = (name: string, args: unknown, more: Piece = {}): Piece => ({
  index: 0,
  type: 'function',
  ...more,
  function: { name, arguments: args },
})
const goesOn = (args: string, more: Piece = { index: 0 }): Piece => ({ ...more, function: { arguments: args } })
const a = { path: 'a' }
const b = { path: 'b' }
const [jsonA, jsonB] = [JSON.stringify(a), JSON.stringify(b)]

/** What a vendor streams (one chunk each, or several pieces in one), and the arguments of the calls that it means. */
const STREAMS: Readonly<Record<string, [chunks: (Piece | Piece[])[], calls: object[]]>> = {
  'one index for all, in fragments': [
    [begins('rm', '', { id: 'x' }), goesOn('{"path":'), goesOn('"a"}'), begins('rm', '', { id: 'y' }), goesOn(jsonB)],
    [a, b],
  ],
  'one index for all, whole': [
    [begins('rm', jsonA, { id: 'x' }), begins('rm', jsonB, { id: 'y' })],
    [a, b],
  ],
  'one index and one id for all': [
    [begins('rm', jsonA, { id: 'x' }), begins('rm', jsonB, { id: 'x' })],
    [a, b],
  ],
  'one index, no ids': [
    [begins('rm', '{"path":'), goesOn('"a"}'), begins('rm', jsonB), begins('ls', '')],
    [a, b, {}],
  ],
  'no index': [
    [begins('rm', jsonA, { index: undefined, id: '' }), begins('rm', jsonB, { index: undefined, id: '' })],
    [a, b],
  ],
  'no index, in one chunk': [[[begins('rm', jsonA, { index: null }), begins('rm', jsonB, { index: null })]], [a, b]],
  'no index, in fragments': [
    [
      begins('rm', '', { index: undefined, id: 'x' }),
      goesOn('{"path":', {}),
      goesOn('"a"}', {}),
      begins('rm', '', { index: undefined, id: 'y' }),
      goesOn(jsonB, {}),
    ],
    [a, b],
  ],
  'an index that grows with each fragment': [
    [begins('rm', '', { id: 'x' }), goesOn('{"path":', { index: 1 }), goesOn('"a"}', { index: 2 })],
    [a],
  ],
  'fragments with the index of an earlier call': [
    [begins('rm', jsonA, { id: 'x' }), begins('rm', '', { id: 'y', index: 1 }), goesOn(jsonB)],
    [a, b],
  ],
  'interleaved as the index says': [
    [
      begins('rm', '', { id: 'x' }),
      begins('rm', '', { id: 'y', index: 1 }),
      goesOn('{"path":'),
      goesOn('{"path":', { index: 1 }),
      goesOn('"a"}'),
      goesOn('"b"}', { index: 1 }),
    ],
    [a, b],
  ],
  'id and name in every fragment': [
    [
      begins('rm', '', { id: 'x' }),
      begins('rm', '{"path":', { id: 'x' }),
      begins('rm', '"a"}', { id: 'x' }),
      begins('rm', '', { id: 'x' }),
    ],
    [a],
  ],
  'a new id in every fragment': [
    [begins('rm', '{"path":', { id: 'x' }), goesOn('"a', { index: 0, id: 'y' }), goesOn('"}', { index: 0, id: 'z' })],
    [a],
  ],
  'the name after the arguments': [
    [goesOn('{"path":', { index: 0, id: 'x' }), goesOn('"a"}'), { index: 0, function: { name: 'rm' } }],
    [a],
  ],
  'the id after the name': [[begins('rm', ''), goesOn(jsonA, { index: 0, id: 'x' })], [a]],
  'an empty object in the place of nothing': [
    [begins('rm', '{}', { id: 'x' }), goesOn('{"path":'), goesOn('"a"}'), begins('ls', '{}', { id: 'y', index: 1 })],
    [a, {}],
  ],
  'the whole call once more at the end': [
    [begins('rm', '', { id: 'x' }), goesOn(jsonA), begins('rm', jsonA, { id: 'x' })],
    [a],
  ],
  'arguments as an object': [
    [begins('rm', a, { id: 'x' }), begins('ls', null, { id: 'y', index: 1 })],
    [a, {}],
  ],
}

const SPEAKERS: Readonly<Record<string, Pick<VendorCase, 'module' | 'config' | 'environment'>>> = {
  'llm/openai-compatible': { module: openaiCompatible, config: (url) => ({ base_url: `${url}/v1` }), environment: {} },
  'llm/ollama': { module: ollama, config: (url) => ({ base_url: url }), environment: {} },
  'llm/openai': {
    module: openai,
    config: (url) => ({ base_url: `${url}/v1`, api: 'chat', api_key: 'k' }),
    environment: {},
  },
}

for (const [reference, speaker] of Object.entries(SPEAKERS)) {
  describe(`${reference}, when calls come in odd pieces`, () => {
    const connect = connectsVendor({ ...speaker, reference, wire: chatWire() })

    for (const [title, [chunks, expected]] of Object.entries(STREAMS)) {
      it(`understands ${title}`, async () => {
        const deltas = chunks.map((pieces) => ({ tool_calls: [pieces].flat() }))
        const { llm } = await connect([
          sends(...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })), {
            choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
          }),
        ])
        const parts = await collect(llm, { messages: [says('hi')] })
        const calls = parts.flatMap((part) => (part.type === 'tool_call' ? part.call : []))
        expect(calls.map((call) => call.arguments)).to.deep.equal(expected)
        expect(calls.filter(({ unreadable }) => unreadable !== undefined)).to.deep.equal([])
        expect(new Set(calls.map(({ id }) => id)).size).to.equal(calls.length)
      })
    }

    it('fails where there are more than 1,000', async () => {
      const calls = (from: number) =>
        Array.from({ length: 600 }, (_, index) => begins('rm', jsonA, { id: `x${from + index}`, index: from + index }))
      for (const chunks of [[calls(0), calls(600)], [[...calls(0), ...calls(600)]]]) {
        const deltas = chunks.map((pieces) => ({ index: 0, delta: { tool_calls: pieces }, finish_reason: null }))
        const { llm } = await connect([sends(...deltas.map((choice) => ({ choices: [choice] })))])
        expect(await failure(collect(llm, { messages: [says('hi')] }))).to.contain(
          'the model made more than 1000 calls in one answer',
        )
      }
    })
  })
}

describe('llm/anthropic, when blocks come with odd indexes', () => {
  const connect = connectsVendor({
    reference: 'llm/anthropic',
    module: anthropic,
    wire: anthropicWire,
    config: (url) => ({ base_url: url, api_key: 'k' }),
    environment: {},
  })
  const [start = '', ...others] = anthropicWire.answer({ text: ['x'] })
  const end = others.slice(-2).map((each) => String(each).replace('end_turn', 'tool_use'))
  const starts = (index: unknown, id: string) => ({
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id, name: 'rm', input: {} },
  })
  const says1 = (index: unknown, partial_json: string) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json },
  })
  const stops = (index: unknown) => ({ type: 'content_block_stop', index })
  const streams: Readonly<Record<string, object[]>> = {
    'one for all': [starts(0, 'x'), says1(0, jsonA), stops(0), starts(0, 'y'), says1(0, jsonB), stops(0)],
    none: [
      starts(undefined, 'x'),
      says1(undefined, jsonA),
      stops(undefined),
      starts(null, 'y'),
      says1(null, jsonB),
      stops(null),
    ],
    'those of others': [starts(0, 'x'), says1(1, jsonA), stops(1), starts(1, 'y'), says1(0, jsonB), stops(0)],
    'several blocks at once': [starts(0, 'x'), starts(1, 'y'), says1(1, jsonB), says1(0, jsonA), stops(0), stops(1)],
  }
  const answers = (events: object[]) => (response: import('node:http').ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const named = events.map((each) => `event: ${(each as { type: string }).type}\ndata: ${JSON.stringify(each)}\n\n`)
    response.end([start, ...named, ...end].join(''))
  }

  for (const [title, events] of Object.entries(streams)) {
    it(`understands ${title}`, async () => {
      const { llm } = await connect([answers(events)])
      const parts = await collect(llm, { messages: [says('hi')] })
      const calls = parts.flatMap((part) => (part.type === 'tool_call' ? part.call : []))
      expect(calls.map(({ id, arguments: args }) => [id, args])).to.deep.equal([
        ['x', a],
        ['y', b],
      ])
    })
  }

  it('fails on a call that has no end', async () => {
    const { llm } = await connect([answers([starts(0, 'x'), says1(0, '{"path":')])])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /^The model began the call of a tool, and did not end it \(/,
    )
  })

  it('are read in the time that their text takes, however many pieces it comes in', () => {
    const vendors = {
      'as usual': goesOn,
      'id and name in every piece': (args: string) => begins('write', args, { id: 'x' }),
    }
    const pieces = JSON.stringify({ text: 'let it be so, '.repeat(8000) }).match(/.{1,4}/g) ?? []
    for (const [vendor, piece] of Object.entries(vendors)) {
      const calls = new ChatCalls()
      const spentMs = measureCpuTime()
      const read = [begins('write', '', { id: 'x' }), ...pieces.map((text) => piece(text))].flatMap((each) =>
        calls.read(each),
      )
      expect(read, vendor).to.have.lengthOf(pieces.length + 1)
      expect(spentMs(), vendor).to.be.lessThan(2000)
    }
  })

  it('of which one event ends the same arguments again and again are read in a moment', () => {
    const calls = new ChatCalls()
    const long = begins('write', `{"a":[${'1,'.repeat(2_000_000)}1]}`, { id: 'x' })
    const ends = Array.from({ length: 200 }, () => begins('write', '}', { id: 'x' }))
    const spentMs = measureCpuTime()
    expect(calls.read([long, goesOn('}'), ...ends])).to.have.lengthOf(202)
    expect(spentMs()).to.be.below(2000)
  })
})
