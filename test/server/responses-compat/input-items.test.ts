import { expect } from 'chai'
import fc from 'fast-check'
import { type Json, makeResponses } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('GET /compat/responses/{id}/input_items', () => {
  afterEach(closeServers)

  it('lists a text as a single user message', async () => {
    const { create, get } = await makeResponses()
    const { id, created_at } = await create('say a')
    const { data, ...rest } = await get(`${id}/input_items`)
    expect(data).to.deep.equal([
      { id: data[0].id, type: 'message', role: 'user', content: [{ type: 'input_text', text: 'say a' }], created_at },
    ])
    expect(data[0].id).to.match(/^msg_[0-9a-f-]{36}$/)
    expect(rest).to.deep.equal({ object: 'list', first_id: data[0].id, last_id: data[0].id, has_more: false })
  })

  it("gives every item an id of its own, and keeps the client's other fields", async () => {
    const { create, get } = await makeResponses()
    const call = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' }
    const input = [
      { role: 'system', content: 'rules' },
      { role: 'assistant', id: 'msg_1', status: 'completed', content: 'before' },
      call,
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { role: 'user', content: [{ type: 'input_text', text: 'say a', extra: 1 }] },
    ]
    const { id } = await create(input)
    const { data } = await get(`${id}/input_items?order=asc`)
    expect(data.map(({ id: _, created_at: __, ...item }: Json) => item)).to.deep.equal([
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'rules' }] },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'before', annotations: [] }],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'say a', extra: 1 }] },
    ])
    expect(new Set(data.map((item: Json) => item.id)).size).to.equal(5)
  })

  it("lists only the response's own input, not that of earlier turns", async () => {
    const { create, get } = await makeResponses()
    const first = await create('say a')
    const second = await create('say b', { previous_response_id: first.id })
    const { data } = await get(`${second.id}/input_items`)
    expect(data.map((item: Json) => item.content[0].text)).to.deep.equal(['say b'])
  })

  it('returns 20 of them, newest first, by default', async () => {
    const { create, get } = await makeResponses()
    const { id } = await create(messages(25))
    const page = await get(`${id}/input_items`)
    expect(textsOf(page)).to.deep.equal(Array.from({ length: 20 }, (_, n) => `m${24 - n}`))
    expect([page.has_more, page.first_id, page.last_id]).to.deep.equal([true, page.data[0].id, page.data[19].id])
  })

  it('pages like an array, for any cursor, limit and order', async () => {
    const { create, inject, get } = await makeResponses()
    const counts = [1, 2, 20, 49, 50, 51, 100, 137]
    const ids = new Map<number, string[]>()
    const responses = new Map<number, string>()
    for (const count of counts) {
      const { id } = await create(messages(count))
      responses.set(count, id)
      const all: string[] = []
      for (let after = ''; ; after = `&after=${all.at(-1)}`) {
        const page = await get(`${id}/input_items?order=asc&limit=100${after}`)
        all.push(...page.data.map((item: Json) => item.id))
        if (!page.has_more) break
      }
      expect(all).to.have.length(count)
      ids.set(count, all)
    }
    const place = fc.option(fc.nat({ max: 136 }), { nil: undefined })
    const asked = fc.record({
      count: fc.constantFrom(...counts),
      limit: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
      order: fc.constantFrom('asc', 'desc', undefined),
      after: place,
      before: place,
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ count, limit, order, ...places }) => {
        const all = ids.get(count) as string[]
        const [after, before] = [places.after, places.before].map((n) => (n === undefined ? undefined : all[n % count]))
        const query = Object.entries({ limit, order, after, before }).flatMap(([name, value]) =>
          value === undefined ? [] : [`${name}=${value}`],
        )
        const reply = await inject('GET', `/${responses.get(count)}/input_items?${query.join('&')}`)
        expect(reply.statusCode).to.equal(200)
        const expected = expectedPage(order === 'asc' ? all : [...all].reverse(), limit ?? 20, after, before)
        const { data, ...page } = reply.json()
        expect({ ...page, data: data.map((item: Json) => item.id) }).to.deep.equal(expected)
      }),
      { numRuns: 600, seed: 6 },
    )
  })

  it('rejects values out of range, and foreign cursors', async () => {
    const { create, inject } = await makeResponses()
    const { id, output } = await create(messages(3))
    const other = await create('say b')
    const otherItem = (await inject('GET', `/${other.id}/input_items`)).json().first_id
    const cases = {
      'limit=0': 'limit must be a whole number from 1 to 100.',
      'limit=101': 'limit must be a whole number from 1 to 100.',
      'limit=x': 'limit must be a whole number from 1 to 100.',
      'limit=1.5': 'limit must be a whole number from 1 to 100.',
      'order=up': "order must be one of 'asc' and 'desc'.",
      'after=msg_1': 'after must be an id of this list',
      'before=': 'before must be an id of this list',
      [`after=${otherItem}`]: 'after must be an id of this list',
      [`after=${output[0].id}`]: 'after must be an id of this list',
      [`after=${id.replace('resp', 'msg')}`]: 'after must be an id of this list',
      'limit=1&limit=2': 'limit must be given once.',
    }
    for (const [query, detail] of Object.entries(cases)) {
      const reply = await inject('GET', `/${id}/input_items?${query}`)
      expect([reply.statusCode, reply.json()], query).to.deep.equal([400, { detail }])
    }
    expect((await inject('GET', `/${id}/input_items?include=a&include=b`)).statusCode).to.equal(200)
    for (const unknown of ['resp_none', id.replace(/.{12}$/, '000000000000'), 'a%20b', '%00', 'x'.repeat(400)]) {
      const reply = await inject('GET', `/${unknown}/input_items`)
      expect([reply.statusCode, reply.json()], unknown).to.deep.equal([404, { detail: 'Response not found' }])
    }
  })

  it('stores 10,000 of them', async () => {
    const { create, get } = await makeResponses()
    const { id } = await create(messages(10_000))
    const page = await get(`${id}/input_items?limit=3`)
    expect(textsOf(page)).to.deep.equal(['m9999', 'm9998', 'm9997'])
    const next = await get(`${id}/input_items?limit=2&after=${page.last_id}`)
    expect(textsOf(next)).to.deep.equal(['m9996', 'm9995'])
  })
})

function messages(count: number): object[] {
  return Array.from({ length: count }, (_, n) => ({ role: 'user', content: `m${n}` }))
}

function textsOf(page: Json): string[] {
  return page.data.map((item: Json) => item.content[0].text)
}

/** In the order asked for: behind `after`, or with `before` alone nearest to it. */
function expectedPage(all: string[], limit: number, after: string | undefined, before: string | undefined) {
  const start = after === undefined ? 0 : all.indexOf(after) + 1
  const end = before === undefined ? all.length : all.indexOf(before)
  const between = all.slice(start, Math.max(start, end))
  const data = after === undefined && before !== undefined ? between.slice(-limit) : between.slice(0, limit)
  return {
    object: 'list',
    data,
    first_id: data[0] ?? null,
    last_id: data.at(-1) ?? null,
    has_more: between.length > limit,
  }
}
