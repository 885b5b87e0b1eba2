import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { longestPause } from '../../support/longest-pause.ts'
import { makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('the history of a response', () => {
  afterEach(closeServers)

  it('is limited in bytes: 5,000 references to one large item delay nobody', async () => {
    const { create, get, inject } = await makeResponses()
    const first = await create(`say ${'x'.repeat(2_000_000)}`)
    const { first_id } = await get(`${first.id}/input_items`)
    const references = Array.from({ length: 5000 }, () => ({ type: 'item_reference', id: first_id }))
    const input = [...references, { role: 'user', content: 'say b' }]
    let answer: Awaited<ReturnType<typeof inject>> | undefined
    const pausedMs = await longestPause(async () => {
      answer = await inject('POST', '', { model: 'talk', input })
    })
    expect([answer?.statusCode, answer?.json()]).to.deep.equal([
      400,
      { detail: 'The conversation has more than 32 MiB, the limit of --max-history-mb' },
    ])
    expect(pausedMs).to.be.below(2000)
    expect(textOf(await create('say c'))).to.equal('c ')
  })

  it('is limited in messages and turns, and errors name the limit', async () => {
    const { create, inject } = await makeResponses({ maxHistoryItems: 6, maxHistoryTurns: 2 })
    const many = Array.from({ length: 7 }, () => ({ role: 'user', content: 'say a' }))
    expect((await inject('POST', '', { model: 'talk', input: many })).json()).to.deep.equal({
      detail: 'The conversation has more than 6 messages, the limit of --max-history-items',
    })
    const first = await create('say a')
    const second = await create('say b', { previous_response_id: first.id })
    const third = await create('history', { previous_response_id: second.id })
    expect(JSON.parse(textOf(third))).to.have.length(5)
    const reply = await inject('POST', '', { model: 'talk', input: 'say d', previous_response_id: third.id })
    expect([reply.statusCode, reply.json().detail]).to.deep.equal([
      400,
      'The conversation has more than 2 turns, the limit of --max-history-turns',
    ])
  })

  it('is limited in the total size of all turns', async () => {
    const { create, inject } = await makeResponses({ maxHistoryMb: 1 })
    const first = await create(`bye ${'x'.repeat(600_000)}`)
    const second = await create(`bye ${'x'.repeat(600_000)}`, { previous_response_id: first.id })
    const reply = await inject('POST', '', { model: 'talk', input: 'bye', previous_response_id: second.id })
    expect([reply.statusCode, reply.json().detail]).to.deep.equal([
      400,
      'The conversation has more than 1 MiB, the limit of --max-history-mb',
    ])
  })

  it('reads each referenced response once, up to a maximum', async () => {
    const { create, inject } = await makeResponses()
    const ids: string[] = []
    for (let n = 0; n < 101; n++) ids.push((await create('say a')).output[0].id)
    const asked = (used: string[]) =>
      inject('POST', '', {
        model: 'talk',
        input: [...used.map((id) => ({ id })), { role: 'user', content: 'history' }],
      })
    const good = (await asked([...ids.slice(0, 100), ids[0] as string])).json()
    expect(JSON.parse(textOf(good))).to.have.length(102)
    expect((await asked(ids)).json()).to.deep.equal({ detail: 'input refers to items of more than 100 responses' })
  })

  it('leaves slots for other requests when background responses fill theirs', async () => {
    const { create, get } = await makeResponses({ maxConcurrentRuns: 1, maxBackgroundRuns: 1, runTimeout: 2 })
    const endless = await create('hang', { background: true })
    await eventually(async () => expect(textOf(await get(endless.id))).to.equal('begun '))
    const waiting = await create('say later', { background: true })
    expect([endless.status, waiting.status]).to.deep.equal(['in_progress', 'in_progress'])
    expect(textOf(await create('say a'))).to.equal('a ')
    expect(textOf(await get(waiting.id))).to.equal('')
    await eventually(async () => expect((await get(waiting.id)).status).to.equal('completed'), 6000)
    const ended = await get(endless.id)
    expect([ended.status, ended.error.message]).to.deep.equal(['failed', 'The run took longer than 2 s.'])
  })

  it('rejects background responses when too many are queued', async () => {
    const { app, create, inject } = await makeResponses({ maxQueuedRuns: 2, noWorker: true, metrics: true })
    const waiting = [await create('say a', { background: true }), await create('say b', { background: true })]
    const refused = await inject('POST', '', { model: 'talk', input: 'say c', background: true })
    expect([refused.statusCode, refused.headers['retry-after']]).to.deep.equal([503, '1'])
    const gauges = (await app.inject('/metrics')).body
    expect(gauges).to.match(/^agent_host_queue_depth\{server="[^"]+"\} 2$/m)
    expect(Number(/^agent_host_queue_oldest_seconds\{.*\} (.*)$/m.exec(gauges)?.[1])).to.be.within(0.001, 10)
    await inject('POST', `/${waiting[0].id}/cancel`)
    await eventually(async () => expect((await create('say d', { background: true })).status).to.equal('in_progress'))
  })
})
