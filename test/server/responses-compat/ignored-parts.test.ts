import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { EFFECTIVE, IgnoredParts } from '../../../src/server/adapters/responses-compat/input/ignored-parts.ts'
import { V1 } from '../../../src/server/replies/dialect.ts'
import { FIELDS, INCLUDES, INPUT_ITEMS, TOOLS, type Treatment } from '../../support/request-parts.ts'
import { makeResponses } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'

const PARTS: Readonly<Record<string, Readonly<Record<string, Treatment>>>> = {
  tool: TOOLS,
  'input item': INPUT_ITEMS,
  include: INCLUDES,
  field: FIELDS,
}

/** The table of the docs: members with the same effect and reason share a row. */
function tableOf(): string[] {
  return Object.entries(PARTS).flatMap(([kind, decisions]) => {
    const rows = new Map<string, string[]>()
    for (const [member, { effect, note }] of Object.entries(decisions)) {
      const end = `${effect} | ${note.charAt(0).toUpperCase()}${note.slice(1)} |`
      rows.set(end, [...(rows.get(end) ?? []), `\`${member}\``])
    }
    return [...rows].map(([end, members]) => `| ${kind} | ${members.join(', ')} | ${end}`)
  })
}

describe('parts of a request for a response', () => {
  afterEach(closeServers)

  const ask = async (prefix: string, body: object) => {
    const { app } = await makeResponses()
    const payload = { model: 'talk', input: 'say hi', ...body }
    const reply = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
    return { reply }
  }

  it('have the effects that the table of the docs shows', () => {
    const docs = readFileSync(new URL('../../../docs/responses.md', import.meta.url), 'utf8')
    const rows = docs.split('\n').filter((line) => /^\| (tool|input item|include|field) \|/.test(line))
    expect(rows).to.deep.equal(tableOf())
    const parts: Readonly<Record<keyof typeof EFFECTIVE, Readonly<Record<string, Treatment>>>> = {
      fields: FIELDS,
      includes: INCLUDES,
      items: INPUT_ITEMS,
      tools: TOOLS,
    }
    for (const kind of Object.keys(parts) as (keyof typeof parts)[]) {
      const effective = Object.entries(parts[kind]).filter(([, { effect }]) => /honoured|given/.test(effect))
      expect([...EFFECTIVE[kind]]).to.have.members(effective.map(([member]) => member))
    }
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

  it('are named among the items that a client adds to a conversation', async () => {
    const { app } = await makeServer({ adapters: ['ResponsesCompatApiAdapter'] })
    const items = [{ role: 'user', content: 'hi' }, { type: 'web_search_call' }, { type: 'reasoning' }]
    const named = 'items[1] (web_search_call), items[2] (reasoning)'
    for (const prefix of ['/v1', '/compat']) {
      const post = (path: string, payload: object) => app.inject({ method: 'POST', url: `${prefix}${path}`, payload })
      const created = await post('/conversations', { items })
      expect([created.statusCode, created.headers['x-ignored']]).to.deep.equal([200, named])
      const added = await post(`/conversations/${created.json().id}/items`, { items })
      expect([added.statusCode, added.headers['x-ignored']]).to.deep.equal([200, named])
      expect((await post('/conversations', { items: items.slice(0, 1) })).headers).to.not.have.property('x-ignored')
      expect((await post('/conversations', {})).headers).to.not.have.property('x-ignored')
    }
  })

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
