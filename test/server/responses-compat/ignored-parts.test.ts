import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { IgnoredParts } from '../../../src/server/adapters/responses-compat/input/ignored-parts.ts'
import {
  FIELDS,
  INCLUDES,
  INPUT_ITEMS,
  TOOLS,
  type Treatment,
} from '../../../src/server/adapters/responses-compat/input/treatments.ts'
import { V1 } from '../../../src/server/replies/dialect.ts'
import { makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const PARTS: Readonly<Record<string, Readonly<Record<string, Treatment>>>> = {
  tool: TOOLS,
  'input item': INPUT_ITEMS,
  include: INCLUDES,
  field: FIELDS,
}

/** The table of the docs: members with the same decision share a row. */
function tableOf(): string[] {
  return Object.entries(PARTS).flatMap(([kind, decisions]) => {
    const rows = new Map<string, string[]>()
    for (const [member, { effect, note }] of Object.entries(decisions)) {
      const end = `${effect} | ${note} |`
      rows.set(end, [...(rows.get(end) ?? []), `\`${member}\``])
    }
    return [...rows].map(([end, members]) => `| ${kind} | ${members.join(', ')} | ${end}`)
  })
}

const call = { call_id: 'c', name: 'a' }
const text = [{ type: 'input_text', text: 'say hi' }]

/**
 * Items of the types that need more than their type. Those that answer what is stored, or are sealed by the server, have tests of their own.
 */
const WHOLE_ITEMS: Readonly<Record<string, readonly object[] | undefined>> = {
  message: [{ type: 'message', role: 'user', content: text }],
  function_call: [
    { type: 'function_call', ...call, arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
  ],
  function_call_output: [
    { type: 'function_call', ...call, arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
  ],
  custom_tool_call: [
    { type: 'custom_tool_call', ...call, input: '' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
  ],
  custom_tool_call_output: [
    { type: 'custom_tool_call', ...call, input: '' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
  ],
  mcp_call: [{ type: 'mcp_call', id: 'm', name: 'a', arguments: '{}', output: 'x' }],
  item_reference: [{ type: 'item_reference', id: 'msg_none' }],
  additional_tools: [{ type: 'additional_tools', tools: [] }],
  mcp_approval_response: undefined,
  compaction: undefined,
  compaction_trigger: undefined,
  reasoning: undefined,
}

/** Values of fields that a probe sends. */
const VALUES: Readonly<Record<string, unknown>> = {
  include: [],
  metadata: { a: 'b' },
  store: true,
  tools: [],
  truncation: 'auto',
  user: 'u',
  max_tool_calls: 1,
  instructions: 'Be kind.',
  parallel_tool_calls: true,
  reasoning: { effort: 'low' },
  text: { verbosity: 'low' },
  tool_choice: 'auto',
  frequency_penalty: 0,
  max_output_tokens: 9,
  presence_penalty: 0,
  temperature: 1,
  top_p: 1,
  prompt_cache_key: 'k',
  safety_identifier: 's',
  service_tier: 'default',
  context_management: [{ type: 'compaction', compact_threshold: 10_000 }],
  prompt_cache_options: { mode: 'x' },
  prompt_cache_retention: '24h',
  top_logprobs: 1,
  stream_options: { include_obfuscation: false },
  access_programs: { cyber: 'standard' },
  image: { detail: 'low' },
  moderation: { model: 'm' },
  prompt: { id: 'p' },
}

describe('parts of a request for a response', () => {
  afterEach(closeServers)

  const ask = async (prefix: string, body: object) => {
    const { app } = await makeResponses()
    const payload = { model: 'talk', input: 'say hi', ...body }
    const reply = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
    return { reply }
  }

  it('have the decisions that the table of the docs shows', () => {
    const docs = readFileSync(new URL('../../../docs/responses.md', import.meta.url), 'utf8')
    const rows = docs.split('\n').filter((line) => /^\| (tool|input item|include|field) \|/.test(line))
    expect(rows).to.deep.equal(tableOf())
  })

  for (const prefix of ['/compat', '/v1']) {
    for (const stream of [false, true]) {
      it(`are named in a header when they are ignored, under ${prefix}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const { reply } = await ask(prefix, {
          stream,
          tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
          include: ['agent.tool_calls', 'web_search_call.results'],
          input: [
            { role: 'user', content: 'say hi' },
            { type: 'program' },
            { type: 'b,(\u00fc' },
            { type: 'reasoning' },
          ],
          stream_options: { include_obfuscation: false },
          shiny: 1,
          image: null,
        })
        expect(reply.statusCode).to.equal(200)
        expect(reply.headers['x-ignored']).to.equal(
          'stream_options, shiny, include[1] (web_search_call.results), tools[1] (web_search), input[1] (program), input[2] (b???), input[3] (reasoning)',
        )
      })
    }

    it(`are not named when all have an effect, under ${prefix}`, async () => {
      const { reply } = await ask(prefix, { tools: [{ type: 'function', name: 'a' }], temperature: 1, include: [] })
      expect(reply.headers).to.not.have.property('x-ignored')
    })
  }

  it('are named up to a number', async () => {
    const { reply } = await ask('/v1', { tools: Array(50).fill({ type: 'shell' }) })
    expect(reply.headers['x-ignored']).to.match(/^tools\[0\] \(shell\), .*tools\[39\] \(shell\), 10 more$/)
  })

  it('are refused under /v1 where to ignore them would mislead, and ignored under /compat', async () => {
    const { reply: refused } = await ask('/v1', { moderation: { model: 'm' } })
    expect([refused.statusCode, refused.json().error.param]).to.deep.equal([400, 'moderation'])
    const { reply: ignored } = await ask('/compat', { moderation: { model: 'm' } })
    expect([ignored.statusCode, ignored.headers['x-ignored']]).to.deep.equal([200, 'moderation'])
  })

  for (const prefix of ['/v1', '/compat']) {
    for (const stream of [false, true]) {
      it(`get the answer that the table says, under ${prefix}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const { app } = await makeResponses()
        const probe = async (body: object) => {
          const payload = { model: 'talk', input: 'say hi', stream, ...body }
          const reply = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
          return { status: reply.statusCode, named: reply.headers['x-ignored'] }
        }
        const expectAs = (effect: string, member: string, place: string, seen: Awaited<ReturnType<typeof probe>>) => {
          const isRefused = effect === 'refused' && (prefix === '/v1' || member === 'prompt')
          const isNamed = !isRefused && (effect === 'ignored' || effect === 'refused')
          expect(seen, place).to.deep.equal({ status: isRefused ? 400 : 200, named: isNamed ? place : undefined })
        }
        for (const [type, { effect }] of Object.entries<Treatment>(TOOLS)) {
          const tool = { type, name: 'a', description: 'A', ...(type === 'namespace' ? { tools: [] } : {}) }
          expectAs(effect, type, `tools[0] (${type})`, await probe({ tools: [tool] }))
        }
        for (const [type, { effect }] of Object.entries<Treatment>(INPUT_ITEMS)) {
          if (type in WHOLE_ITEMS && WHOLE_ITEMS[type] === undefined) continue
          const input = [{ role: 'user', content: 'say hi' }, ...(WHOLE_ITEMS[type] ?? [{ type }])]
          expectAs(effect, type, `input[${input.length - 1}] (${type})`, await probe({ input }))
        }
        for (const [value, { effect }] of Object.entries<Treatment>(INCLUDES)) {
          expectAs(effect, value, `include[0] (${value})`, await probe({ include: [value] }))
        }
        for (const [field, { effect }] of Object.entries<Treatment>(FIELDS)) {
          if (!(field in VALUES)) continue
          expectAs(effect, field, field, await probe({ [field]: VALUES[field] }))
        }
        const unprobed = Object.keys(FIELDS).filter((field) => !(field in VALUES))
        // They are part of every probe, or name something that is stored.
        expect(unprobed).to.deep.equal([
          'background',
          'conversation',
          'input',
          'model',
          'previous_response_id',
          'stream',
        ])
      })
    }
  }

  it('are logged once for each agent, wherever they stand', () => {
    const lines: string[] = []
    const request = { id: 'r', log: { info: (_: object, line: string) => lines.push(line) } as never }
    const parts = new IgnoredParts()
    const find = (...types: string[]) =>
      parts.find({ model: 'talk', input: 'x', tools: types.map((type) => ({ type })) }, V1, request)
    expect(['shell', 'shell', 'mcp'].map((type) => find(type))).to.deep.equal([
      'tools[0] (shell)',
      'tools[0] (shell)',
      'tools[0] (mcp)',
    ])
    expect(find('function', 'shell')).to.equal('tools[1] (shell)')
    expect(lines).to.deep.equal([
      "a request to 'talk' has parts that are ignored: tools[0] (shell)",
      "a request to 'talk' has parts that are ignored: tools[0] (mcp)",
    ])
  })
})
