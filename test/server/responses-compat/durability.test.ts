import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import Database from 'libsql'
import { eventually } from '../../support/eventually.ts'
import { type Json, makeResponses, openStream, RESPONSES, RESPONSES_PROJECT, textOf } from '../../support/responses.ts'
import { killRunning, type RunningCli, startCli } from '../../support/run-cli.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const KEY = 'key-1234'
const HEADERS = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }
const ADAPTERS = ['--adapter', 'ResponsesCompatApiAdapter,ChatCompatApiAdapter', '--port', '0']

describe('what responses survive', () => {
  afterEach(killRunning)
  afterEach(closeServers)

  async function start(cwd: string): Promise<RunningCli & { url: string; ask: Ask }> {
    const server = startCli(['serve', ...ADAPTERS, '--responses-api-key', KEY], { cwd })
    const [, address] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    const url = `${address}${RESPONSES}`
    const ask: Ask = async (path, body, method = body ? 'POST' : 'GET') => {
      const init = body ? { body: JSON.stringify(body) } : {}
      const reply = await fetch(url + path, { method, headers: HEADERS, ...init })
      return { status: reply.status, headers: reply.headers, json: (await reply.json()) as Json }
    }
    return { ...server, url, ask }
  }

  it('kill -9 under load: all that was acknowledged is there, whole, and nothing is left in progress', async () => {
    const { dir } = await makeProject(RESPONSES_PROJECT)
    const acknowledged: Acknowledged = { records: [], chains: [], backgrounds: [], streams: [] }
    for (let round = 0; round < 10; round++) {
      const server = await start(dir)
      const before = count(acknowledged)
      const lanes = Array.from({ length: 16 }, (_, lane) => keepAsking(server, lane, acknowledged))
      await eventually(() => expect(count(acknowledged) - before).to.be.greaterThan(200), 20_000)
      await server.stop('SIGKILL')
      await Promise.all(lanes)
    }
    expect(count(acknowledged)).to.be.greaterThan(2000)
    const { ask, url } = await start(dir)

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

    const statuses = new Map<string, number>()
    const messages = new Set<string>()
    for (let after = '', more = true; more; ) {
      const { json: page } = await ask(`?limit=100${after}`)
      for (const { id, status, error } of page.data) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (error) messages.add(error.message)
        expect((await ask(`/${id}/input_items`)).json.data).to.have.length(1)
      }
      after = `&after=${page.last_id}`
      more = page.has_more
    }
    expect([...statuses.keys()].sort()).to.deep.equal(['completed', 'failed'])
    expect([...messages]).to.deep.equal(['The server restarted before the response was complete'])
  }).timeout(120_000)

  it('a disk that is full: no false answer, what is there can be read, chat goes on, and it recovers', async function () {
    if (!hasLimits()) this.skip() // prlimit is of Linux.
    const { dir } = await makeProject(RESPONSES_PROJECT)
    const { ask, pid, url } = await start(dir)
    const { json: first } = await ask('', { model: 'talk', input: 'say a' })
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}`])
    limit('300000:unlimited')
    const stored: Json[] = [first]
    let refused: Awaited<ReturnType<Ask>> | undefined
    for (let n = 0; n < 500 && !refused; n++) {
      const reply = await ask('', { model: 'talk', input: `say ${'x'.repeat(5000)} ${n}` })
      if (reply.status === 200) stored.push(reply.json)
      else refused = reply
    }
    expect([refused?.status, refused?.json, refused?.headers.get('retry-after')]).to.deep.equal([
      503,
      { detail: 'The store of responses cannot be reached' },
      '1',
    ])
    for (const record of stored) expect((await ask(`/${record.id}`)).json).to.deep.equal(record)
    const chat = { model: 'talk', messages: [{ role: 'user', content: 'say b' }] }
    const { json: answer } = await ask('/../chat/completions', chat)
    expect(answer.choices[0].message.content).to.equal('b ')
    expect((await ask('', { model: 'talk', input: 'say c', store: false })).status).to.equal(200)
    const stream = await openStream(url, { model: 'talk', input: `say ${'y'.repeat(50_000)}`, stream: true }, HEADERS)
    await stream.done
    expect(stream.status === 503 || stream.events().at(-2)?.type === 'response.failed').to.equal(true)
    limit('unlimited:unlimited')
    const after = await ask('', { model: 'talk', input: 'say d' })
    expect(after.status).to.equal(200)
    for (const record of [...stored, after.json]) expect((await ask(`/${record.id}`)).json).to.deep.equal(record)
  }).timeout(60_000)

  it('a locked database: 503, what is there can be read, what ran has failed, and it recovers', async () => {
    const { create, inject, get, listen, project } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const first = await create('say a')
    const stream = await openStream(url, { model: 'talk', input: 'count 20', stream: true })
    await eventually(() => expect(stream.events().length).to.be.greaterThan(4))
    const other = new Database(join(project.dir, 'responses', 'responses.db'))
    other.exec('BEGIN IMMEDIATE')
    const asked = inject('POST', '', { model: 'talk', input: 'say b' })
    expect(await get(first.id)).to.deep.equal(first)
    expect((await create('say c', { store: false })).status).to.equal('completed')
    const reply = await asked
    expect([reply.statusCode, reply.headers['x-should-retry']]).to.deep.equal([503, 'false'])
    await stream.done
    const failed = stream.events().at(-2)
    expect([failed.type, failed.response.error.message]).to.deep.equal([
      'response.failed',
      'The response could not be stored',
    ])
    other.exec('ROLLBACK')
    other.close()
    expect((await create('say d')).status).to.equal('completed')
    await eventually(async () => {
      const { status, error } = await get(failed.response.id)
      expect([status, error?.message]).to.deep.equal(['failed', 'The response could not be stored'])
    })
  }).timeout(30_000)

  it('deletion does not: nothing of the text is in any file', async () => {
    const { create, stream, inject, project } = await makeResponses()
    const canary = 'canary-4711'
    const ids = [
      (await create(`say ${canary}`, { user: canary, metadata: { canary }, instructions: canary })).id,
      (await stream(`say ${canary} ${'x '.repeat(3000)}`))[0].response.id,
      (await create([{ role: 'user', content: `say ${canary} ${'y'.repeat(20_000)}` }])).id,
      (await inject('POST', '', { model: 'talk', input: `say ${canary}` }, { 'idempotency-key': canary })).json().id,
    ]
    ids.push((await create('say more', { previous_response_id: ids[0] })).id)
    const dir = project.path('responses')
    const holds = () =>
      readdirSync(dir).some((name) => name !== 'servers' && readFileSync(join(dir, name)).includes(canary))
    expect(holds()).to.equal(true)
    for (const id of ids) expect((await inject('DELETE', `/${id}`)).statusCode).to.equal(200)
    await eventually(() => expect(holds()).to.equal(false))
  })

  it('time does not, when there is a retention', async () => {
    const { create, close, project } = await makeResponses()
    const old = await create('say old')
    await close()
    const db = new Database(join(project.dir, 'responses', 'responses.db'))
    // Three days ago, by the time in its id.
    const ms = Date.now() - 3 * 24 * 60 * 60 * 1000
    const hex = ms.toString(16).padStart(12, '0')
    const uuid = old.id.slice(5)
    const older = `${hex.slice(0, 8)}-${hex.slice(8)}${uuid.slice(13)}`
    db.prepare('UPDATE keyv SET key = replace(key, ?, ?), value = replace(value, ?, ?)').run([uuid, older, uuid, older])
    db.close()
    const again = await makeResponses({ projectDir: project.dir, retentionDays: 4 })
    expect((await again.get(`resp_${older}`)).status).to.equal('completed')
    const young = await again.create('say young')
    await again.close()
    const last = await makeResponses({ projectDir: project.dir, retentionDays: 2 })
    await eventually(async () => expect((await last.get(`resp_${older}`)).detail).to.equal('Response not found'))
    expect(await last.get(young.id)).to.deep.equal(young)
  })
})

type Ask = (path: string, body?: object, method?: string) => Promise<{ status: number; headers: Headers; json: Json }>

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
async function keepAsking(server: { url: string; ask: Ask }, lane: number, acknowledged: Acknowledged): Promise<void> {
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

function hasLimits(): boolean {
  try {
    return execFileSync('prlimit', ['--version']).length > 0
  } catch {
    return false
  }
}
