import { expect } from 'chai'
import fc from 'fast-check'
import { anyCharacter } from '../../support/any-character.ts'
import { eventually } from '../../support/eventually.ts'
import { readAsItComes } from '../../support/read-stream.ts'
import { type Json, makeResponses, openStream, RESPONSES, talkState, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('a streamed response', () => {
  afterEach(closeServers)

  it('sends the events of the specification in order, with the fields that clients read', async () => {
    const { stream, get } = await makeResponses()
    const events = await stream('say one two')
    const { response } = events[0]
    expect(response).to.deep.include({
      object: 'response',
      status: 'in_progress',
      model: 'talk',
      output: [],
      error: null,
    })
    expect(response.created_at).to.be.a('number')
    const stored = await get(response.id)
    const item_id = stored.output[0].id
    const place = { item_id, output_index: 0, content_index: 0 }
    const part = (text: string) => ({ type: 'output_text', text, annotations: [] })
    const item = (status: string, content: object[]) => ({
      type: 'message',
      id: item_id,
      status,
      role: 'assistant',
      content,
    })
    expect(events).to.deep.equal([
      { type: 'response.created', sequence_number: 1, response },
      { type: 'response.in_progress', sequence_number: 2, response },
      { type: 'response.output_item.added', sequence_number: 3, output_index: 0, item: item('in_progress', []) },
      { type: 'response.content_part.added', sequence_number: 4, ...place, part: part('') },
      { type: 'response.output_text.delta', sequence_number: 5, ...place, delta: 'one ' },
      { type: 'response.output_text.delta', sequence_number: 6, ...place, delta: 'two ' },
      { type: 'response.content_part.done', sequence_number: 7, ...place, part: part('one two ') },
      { type: 'response.output_text.done', sequence_number: 8, ...place, text: 'one two ' },
      {
        type: 'response.output_item.done',
        sequence_number: 9,
        output_index: 0,
        item: item('completed', [part('one two ')]),
      },
      { type: 'response.completed', sequence_number: 10, response: stored },
      '[DONE]',
    ])
    expect(stored).to.deep.include({ status: 'completed', output: [item('completed', [part('one two ')])] })
    expect(stored.usage.total_tokens).to.equal(5)
  })

  it('arrives as data lines of server-sent events', async () => {
    const { inject } = await makeResponses()
    const reply = await inject('POST', '', { model: 'talk', input: 'say a', stream: true })
    expect(reply.headers['content-type']).to.equal('text/event-stream; charset=utf-8')
    expect(reply.headers['x-request-id']).to.be.a('string')
    const lines = reply.body.split('\n\n')
    expect(lines.pop()).to.equal('')
    expect(lines.every((line) => /^data: (\{.*\}|\[DONE\])$/.test(line))).to.equal(true)
  })

  it('streams an answer without text', async () => {
    const { stream } = await makeResponses()
    const types = (await stream('nothing')).map((event) => event.type)
    expect(types).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.content_part.done',
      'response.output_text.done',
      'response.output_item.done',
      'response.completed',
      undefined,
    ])
  })

  it('includes tool calls on request, one item after the other', async () => {
    const { stream } = await makeResponses()
    const events = await stream('1 + 2?', { model: 'tools', include: ['agent.tool_calls'] })
    const told = events.map(
      ({ type, output_index = '', item, delta = '' }) => `${type} ${output_index} ${item?.type ?? delta}`,
    )
    expect(told.filter((line) => !/text.delta|created|in_progress|DONE|undefined/.test(line))).to.deep.equal([
      'response.output_item.added 0 message',
      'response.content_part.added 0 ',
      'response.content_part.done 0 ',
      'response.output_text.done 0 ',
      'response.output_item.done 0 message',
      'response.output_item.added 1 mcp_call',
      'response.mcp_call_arguments.delta 1 {"a":1,"b":2}',
      'response.mcp_call_arguments.done 1 ',
      'response.mcp_call.completed 1 ',
      'response.output_item.done 1 mcp_call',
      'response.output_item.added 2 message',
      'response.content_part.added 2 ',
      'response.content_part.done 2 ',
      'response.output_text.done 2 ',
      'response.output_item.done 2 message',
      'response.completed  ',
    ])
    const { response } = events.at(-2)
    for (const { output_index, item_id } of events.filter((event) => event.item_id)) {
      expect(response.output[output_index].id).to.equal(item_id)
    }
  })

  it('fails at once with the agent, and keeps its text so far', async () => {
    const { stream, get } = await makeResponses()
    const events = await stream('fail-after')
    expect(events.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.failed',
      undefined,
    ])
    const { response } = events.at(-2)
    expect(response.error).to.deep.equal({ code: 'server_error', message: 'Agent execution failed' })
    expect(await get(response.id)).to.deep.equal(response)
    expect([response.output[0].status, textOf(response)]).to.deep.equal(['in_progress', 'part'])
  })

  it('preserves 500 random texts', async () => {
    const { stream } = await makeResponses()
    for (const text of fc.sample(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 200 }), {
      numRuns: 500,
      seed: 4,
    })) {
      const events = await stream(text, { model: 'echo' })
      expect(events.map(({ delta }) => delta ?? '').join('')).to.equal(text)
      expect(textOf(events.at(-2).response)).to.equal(text)
    }
  })

  it('can be joined after every event, while running and after its end', async () => {
    const { listen, join } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const first = await openStream(url, { model: 'talk', input: 'count 12', stream: true })
    await eventually(() => expect(first.events().length).to.be.greaterThan(5))
    const { id } = first.events()[0].response
    const joined = await Promise.all(
      Array.from({ length: 22 }, async (_, after) => {
        const stream = await openStream(`${url}/${id}?stream=true&starting_after=${after}`)
        await stream.done
        return stream.events()
      }),
    )
    await first.done
    const all = first.events()
    expect(all).to.have.length(2 + 2 + 12 + 3 + 1 + 1)
    for (const [after, events] of joined.entries()) {
      const rest = after < 20 ? all.slice(after) : ['[DONE]']
      expect(events, `after ${after}`).to.deep.equal(rest)
      expect(await join(id, after), `after ${after}, ended`).to.deep.equal(rest)
    }
  })

  it('can be left and resumed repeatedly', async () => {
    const { listen } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const [created] = await readSome(`${url}`, 1, { model: 'talk', input: 'count 20', stream: true, background: true })
    const { id } = created.response
    const seen = [created]
    while (seen.at(-1) !== '[DONE]') {
      seen.push(...(await readSome(`${url}/${id}?stream=true&starting_after=${seen.at(-1).sequence_number}`, 3)))
    }
    const whole = await openStream(`${url}/${id}?stream=true`)
    await whole.done
    expect(seen).to.deep.equal(whole.events())
  })

  it('can be fetched while running, with its text so far', async () => {
    const { listen, get } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const stream = await openStream(url, { model: 'talk', input: 'hang', stream: true })
    await eventually(() => expect(stream.events()).to.have.length(5))
    const { id } = stream.events()[0].response
    const record = await get(id)
    expect([record.status, record.output[0].status, textOf(record)]).to.deep.equal([
      'in_progress',
      'in_progress',
      'begun ',
    ])
    stream.leave()
  })

  it('is cancelled when its client disconnects, and keeps its text so far', async () => {
    const { listen, whenEnded } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const aborted = talkState().aborted
    const stream = await openStream(url, { model: 'talk', input: 'hang', stream: true })
    await eventually(() => expect(stream.events()).to.have.length(5))
    stream.leave()
    const record = await whenEnded(stream.events()[0].response.id)
    expect([record.status, textOf(record), record.error]).to.deep.equal(['cancelled', 'begun ', null])
    await eventually(() => expect(talkState().aborted).to.equal(aborted + 1))
  })

  it('keeps running without its client if the request says so', async () => {
    const { listen, whenEnded } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const body = { model: 'talk', input: 'count 10', stream: true, metadata: { on_disconnect: 'continue' } }
    const [{ response }] = await readSome(url, 4, body)
    const record = await whenEnded(response.id)
    expect([record.status, textOf(record)]).to.deep.equal(['completed', 'w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 '])
  })

  it('runs on at full speed once a client has left that did not read', async () => {
    const { listen, whenEnded } = await makeResponses()
    const leaving = new AbortController()
    const body = { model: 'talk', input: 'flood 1500', stream: true, metadata: { on_disconnect: 'continue' } }
    const reply = await fetch(`${await listen()}${RESPONSES}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    const first = Buffer.from((await reply.body?.getReader().read())?.value ?? []).toString()
    leaving.abort()
    const record = await whenEnded(/resp_[0-9a-f-]{36}/.exec(first)?.[0] as string)
    expect([record.status, textOf(record).length]).to.deep.equal(['completed', 1500 * 1024])
  })

  it('gets a keep-alive comment while idle', async () => {
    const { listen } = await makeResponses({ streamingTimeout: 1 })
    const reply = await fetch(`${await listen()}${RESPONSES}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'talk', input: 'hang', stream: true }),
    })
    const { text } = readAsItComes(reply)
    await eventually(() => expect(text()).to.match(/"delta":"begun "\}\n\n: keep-alive\n\n$/))
  })

  it('slows its agent down while the client does not read', async () => {
    const { listen, get } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const leaving = new AbortController()
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'talk', input: 'flood 30000', stream: true }),
      signal: leaving.signal,
    })
    const reader = reply.body?.getReader()
    const first = Buffer.from((await reader?.read())?.value ?? []).toString()
    const id = /resp_[0-9a-f-]{36}/.exec(first)?.[0] as string
    let length = -1
    await eventually(async () => {
      const before = length
      length = textOf(await get(id)).length
      expect(length).to.equal(before)
    }, 10_000)
    expect(length).to.be.greaterThan(0)
    // The system's buffers between them hold several megabytes, twice as many behind a proxy.
    expect(length).to.be.lessThan(20 * 1024 * 1024)
    expect((await get(id)).status).to.equal('in_progress')
    leaving.abort()
  })

  it('rejects an invalid position', async () => {
    const { create, inject } = await makeResponses()
    const { id } = await create('say a')
    for (const query of [
      'starting_after=x',
      'stream=true&starting_after=-1',
      'stream=maybe',
      'stream=true&stream=true',
    ]) {
      expect((await inject('GET', `/${id}?${query}`)).statusCode, query).to.equal(400)
    }
    expect((await inject('GET', '/resp_none?stream=true')).json()).to.deep.equal({ detail: 'Response not found' })
  })
})

/** Reads some events, or all that are left, and leaves. */
async function readSome(url: string, count: number, body?: object): Promise<Json[]> {
  const stream = await openStream(url, body)
  await eventually(() => expect(stream.events().length >= count || stream.events().at(-1) === '[DONE]').to.equal(true))
  stream.leave()
  return stream.events().slice(0, count)
}
