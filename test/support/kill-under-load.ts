import { expect } from 'chai'
import { eventually } from './eventually.ts'
import { type Json, openStream, RESPONSES_PROJECT, textOf } from './responses.ts'
import { HEADERS, type ResponsesProcess, startResponses } from './responses-process.ts'
import { makeProject } from './temp-project.ts'

/**
 * Kills a server under load this many times, and expects all that it acknowledged to be there, and nothing in progress. Returns
 * the statuses of the responses: a few kills may cut none of them off.
 */
export async function proveKills(kills: number): Promise<string[]> {
  const { dir } = await makeProject(RESPONSES_PROJECT)
  const acknowledged: Acknowledged = { records: [], chains: [], backgrounds: [], streams: [] }
  for (let round = 0; round < kills; round++) {
    const server = await startResponses(dir)
    const before = count(acknowledged)
    const lanes = Array.from({ length: 16 }, (_, lane) => keepAsking(server, lane, acknowledged))
    await eventually(() => expect(count(acknowledged) - before).to.be.greaterThan(200), 20_000)
    await server.stop('SIGKILL')
    await Promise.all(lanes)
  }
  expect(count(acknowledged)).to.be.greaterThan(200 * kills)
  const server = await startResponses(dir)
  await expectWhole(server, acknowledged)
  return expectEnded(server)
}

async function expectWhole({ ask, url }: ResponsesProcess, acknowledged: Acknowledged): Promise<void> {
  for (const record of acknowledged.records) expect((await ask(`/${record.id}`)).json).to.deep.equal(record)
  for (const { last, said } of acknowledged.chains) {
    const { json } = await ask('', { model: 'talk', input: 'history', previous_response_id: last })
    expect(JSON.parse(textOf(json)).slice(0, -1)).to.deep.equal(said)
  }
  for (const id of acknowledged.backgrounds) expect((await ask(`/${id}`)).json.id).to.equal(id)
  for (const seen of acknowledged.streams) {
    const stream = await openStream(`${url}/${seen[0].response.id}?stream=true`, undefined, HEADERS)
    await stream.done
    expect(stream.events().slice(0, seen.length)).to.deep.equal(seen)
  }
}

async function expectEnded({ ask }: ResponsesProcess): Promise<string[]> {
  const statuses = new Set<string>()
  const messages = new Set<string>()
  for (let after = '', more = true; more; ) {
    const { json: page } = await ask(`?limit=100${after}`)
    for (const { id, status, error } of page.data) {
      statuses.add(status)
      if (error) messages.add(error.message)
      expect((await ask(`/${id}/input_items`)).json.data).to.have.length(1)
    }
    after = `&after=${page.last_id}`
    more = page.has_more
  }
  expect(['completed', 'failed']).to.include.members([...statuses])
  expect(['The server restarted before the response was complete']).to.include.members([...messages])
  return [...statuses]
}

interface Acknowledged {
  readonly records: Json[]
  /** What was said up to a response. */
  readonly chains: { last: string; said: string[] }[]
  readonly backgrounds: string[]
  /** The events that arrived. */
  readonly streams: Json[][]
}

function count({ records, backgrounds, streams }: Acknowledged): number {
  return records.length + backgrounds.length + streams.length
}

/** Asks one thing after the other until the server is gone, and notes what it has said. */
async function keepAsking(server: ResponsesProcess, lane: number, acknowledged: Acknowledged): Promise<void> {
  const { ask, url } = server
  const chain = { last: '', said: [] as string[] }
  try {
    for (let n = lane; ; n++) {
      if (n % 4 === 0) {
        const { status, json } = await ask('', { model: 'talk', input: 'count 3', background: true })
        if (status === 200) acknowledged.backgrounds.push(json.id)
      } else if (n % 4 === 1) {
        const stream = await openStream(url, { model: 'talk', input: `say ${lane} ${n}`, stream: true }, HEADERS)
        await stream.done
        if (stream.events().length > 0) acknowledged.streams.push(stream.events())
      } else {
        const input = `say ${lane} ${n}`
        const previous = chain.last === '' ? {} : { previous_response_id: chain.last }
        const { status, json } = await ask('', { model: 'talk', input, ...previous })
        if (status !== 200) continue
        acknowledged.records.push(json)
        chain.last = json.id
        chain.said.push(`user: ${input}`, `assistant: ${textOf(json)}`)
      }
    }
  } catch {
    // It was killed.
    if (chain.last !== '') acknowledged.chains.push(chain)
  }
}
