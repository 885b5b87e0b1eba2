import { expect } from 'chai'
import { makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

// Puts values of the wrong kind into each place of tools and input items: an answer is 200 or a refusal that names the field, and a refused
// request has asked no model.

const FILES = {
  'agents/counted.yml': `id: counted
modules:
  - { id: llm, module: counted }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/counted.ts': `import { defineModule, LLM } from 'agent-host'
globalThis.askedForMalformed = 0
export default defineModule({ name: 'Counted', provides: [LLM], create: () => ({
  async *generate() {
    globalThis.askedForMalformed++
    yield { type: 'text', text: 'hi' }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
}
const asked = () => Number(Reflect.get(globalThis, 'askedForMalformed'))

const WRONG: readonly unknown[] = [null, 5, '', [null], { type: 5 }, '\u0000']

const user = { type: 'message', role: 'user', content: 'go' }
const called = { call_id: 'c', name: 'a', namespace: 'n' }
const find = { type: 'function', name: 'a', description: 'd', parameters: { type: 'object' }, strict: true }
const grammar = { type: 'grammar', syntax: 'regex', definition: 'a+' }
const TOOLS: readonly object[] = [
  find,
  { type: 'custom', name: 'a', description: 'd', format: grammar },
  { type: 'namespace', name: 'n', description: 'd', tools: [find] },
]
const ITEMS: readonly (readonly [item: object, ...more: object[]])[] = [
  [{ ...user, content: [{ type: 'input_text', text: 'x' }], phase: 'commentary' }],
  [
    { type: 'function_call', ...called, arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
  ],
  [
    { type: 'custom_tool_call', ...called, input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
  ],
  [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] }],
  [{ type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] }],
  [{ type: 'mcp_call', id: 'm', name: 'a', arguments: '{}', output: 'x', error: null }],
  [{ type: 'reasoning', id: 'r', summary: [], encrypted_content: 'v1.abc' }],
  [{ type: 'compaction', id: 'c', encrypted_content: 'v1.abc' }],
  [{ type: 'additional_tools', role: 'developer', tools: TOOLS }],
]

/** Copies of a value: each with one part left out, or in its place a wrong one. */
function* spoil(value: unknown): Generator<unknown> {
  yield* WRONG
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value)) {
    const rest = Object.entries(value).filter(([other]) => other !== key)
    const toValue = (entries: [string, unknown][]) =>
      Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries)
    yield toValue(rest)
    for (const spoilt of spoil(part)) yield toValue([...rest, [key, spoilt]])
  }
}

describe('malformed parts of a request for a response', () => {
  afterEach(closeServers)

  const kinds: Record<string, () => Generator<object>> = {
    *tools() {
      for (const tool of TOOLS) for (const spoilt of spoil(tool)) yield { input: 'go', tools: [spoilt] }
    },
    *'input items'() {
      for (const [item, ...more] of ITEMS) for (const spoilt of spoil(item)) yield { input: [user, spoilt, ...more] }
    },
  }
  for (const [kind, list] of Object.entries(kinds)) {
    it(`are refused by the name of their field, or have no effect: ${kind}`, async () => {
      const { app } = await makeResponses({ logLevel: 'silent' }, FILES)
      const counts = { taken: 0, refused: 0 }
      for (const body of list()) {
        for (const [url, stream] of [
          ['/v1/responses', false],
          ['/compat/responses', true],
        ] as const) {
          const before = asked()
          const reply = await app.inject({ method: 'POST', url, payload: { model: 'counted', stream, ...body } })
          const { statusCode } = reply
          const text = `${url} ${JSON.stringify(body).slice(0, 300)}: ${statusCode} ${reply.body.slice(0, 300)}`
          if (statusCode === 200) expect(reply.body, text).to.not.match(/"type":"error"|"status":"failed"/)
          else {
            expect([statusCode, asked() - before], text).to.deep.equal([400, 0])
            const param = url.startsWith('/v1') ? reply.json().error.param : reply.json().detail
            expect(param, text).to.be.a('string').and.not.equal('')
          }
          counts[statusCode === 200 ? 'taken' : 'refused']++
        }
      }
      expect(Math.min(counts.taken, counts.refused)).to.be.above(100)
    })
  }
})
