import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import Database from 'libsql'
import { openStore } from '../../../src/store/open-store.ts'
import { eventually } from '../../support/eventually.ts'
import { proveKills } from '../../support/kill-under-load.ts'
import { type Json, makeResponses, openStream, RESPONSES, RESPONSES_PROJECT, textOf } from '../../support/responses.ts'
import { type Ask, HEADERS, startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

describe('durability of responses', () => {
  afterEach(killRunning)
  afterEach(closeServers)

  it('kill -9 under load: everything acknowledged is whole, and nothing stays in progress', () => proveKills(1))

  it('a full disk: no false answers, stored responses readable, chat unaffected, recovery', async function () {
    if (!hasLimits()) this.skip() // prlimit is of Linux.
    const { dir } = await makeProject(RESPONSES_PROJECT)
    const { ask, pid, url } = await startResponses(dir)
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
    // More than fits, even where the log has been emptied meanwhile.
    const stream = await openStream(url, { model: 'talk', input: `say ${'y'.repeat(400_000)}`, stream: true }, HEADERS)
    await stream.done
    expect(stream.status === 503 || stream.events().at(-2)?.type === 'response.failed').to.equal(true)
    limit('unlimited:unlimited')
    const after = await ask('', { model: 'talk', input: 'say d' })
    expect(after.status).to.equal(200)
    for (const record of [...stored, after.json]) expect((await ask(`/${record.id}`)).json).to.deep.equal(record)
  })

  it('a folder deleted while the server runs: 503 with the reason, and no answer that a restart would lose', async () => {
    const { create, inject, project } = await makeResponses()
    const first = await create('say a')
    rmSync(join(project.dir, 'responses'), { recursive: true })
    for (const [method, path, body] of [
      ['POST', '', { model: 'talk', input: 'say b' }],
      ['POST', '', { model: 'talk', input: 'say c', background: true }],
      ['GET', `/${first.id}`, undefined],
    ] as const) {
      const reply = await inject(method, path, body)
      expect([reply.statusCode, reply.json()]).to.deep.equal([503, { detail: 'The store of responses was removed' }])
    }
    expect((await create('say d', { store: false })).status).to.equal('completed')
  })

  it('a locked database: 503, stored responses readable, running ones failed, recovery', async () => {
    const { create, inject, get, listen, project } = await makeResponses()
    const url = `${await listen()}${RESPONSES}`
    const first = await create('say a')
    const stream = await openStream(url, { model: 'talk', input: 'count 20', stream: true })
    await eventually(() => expect(stream.events().length).to.be.greaterThan(4))
    const other = new Database(join(project.dir, 'responses', 'responses.db'))
    // The stream writes at this very moment.
    other.exec('PRAGMA busy_timeout = 5000')
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
  })

  it('deletion: no file has any of the text', async () => {
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

  it('a damaged row, or one of a newer version, is missing alone', async () => {
    const { create, get, inject, project } = await makeResponses()
    const first = await create('say a')
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await create('say b', { previous_response_id: first.id })).id)
    const [newer = '', damaged = '', turn = ''] = ids
    const records = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    await records.commit([
      [`response:${newer}`, '{"version":99}'],
      [`response:${damaged}`, '{"steps":[]}'],
      [`turn:${turn}`, '{"version":99}'],
    ])
    await records.close()
    const detailOf = async (id: string) => [(await inject('GET', `/${id}`)).statusCode, (await get(id)).detail]
    const isNewer = 'was written by a newer version of agent-host.'
    expect(await detailOf(newer)).to.deep.equal([503, `The stored response '${newer}' ${isNewer}`])
    expect(await detailOf(damaged)).to.deep.equal([503, `The stored response '${damaged}' is damaged.`])
    const refused = await inject('POST', '', { model: 'talk', input: 'hi', previous_response_id: turn })
    expect([refused.statusCode, refused.json().detail]).to.deep.equal([503, `The stored response '${turn}' ${isNewer}`])
    expect((await get(first.id)).status).to.equal('completed')
    expect((await create('say c', { previous_response_id: first.id })).status).to.equal('completed')
  })

  it('retention: old responses are deleted', async () => {
    const { create, close, project } = await makeResponses()
    const old = await create('say old')
    await close()
    const older = threeDaysOlder(project.dir, old.id)
    const again = await makeResponses({ projectDir: project.dir, retentionDays: 4 })
    expect((await again.get(`resp_${older}`)).status).to.equal('completed')
    const young = await again.create('say young')
    await again.close()
    const last = await makeResponses({ projectDir: project.dir, retentionDays: 2 })
    await eventually(async () => expect((await last.get(`resp_${older}`)).detail).to.equal('Response not found'))
    expect(await last.get(young.id)).to.deep.equal(young)
  })

  it('retention: conversations are deleted by their last use, with their messages', async () => {
    const { app, create, close, project } = await makeResponses()
    const { id: conversation } = (
      await app.inject({ method: 'POST', url: '/compat/conversations', payload: {} })
    ).json()
    const old = await create('say old', { conversation })
    await close()
    const [named, said] = [conversation, old.id].map((id) => threeDaysOlder(project.dir, id))
    const again = await makeResponses({ projectDir: project.dir, retentionDays: 2 })
    const young = await again.create('history', { conversation: `conv_${named}` })
    expect(textOf(young)).to.include('user: say old')
    expect((await again.get(`resp_${said}`)).status).to.equal('completed')
    await again.close()
    const times = /"usedAt":\d+/.exec(readStore(project.dir, `conversation:conv_${named}`))?.[0] ?? ''
    replaceInStore(project.dir, times, '"usedAt":1')
    const last = await makeResponses({ projectDir: project.dir, retentionDays: 2 })
    await eventually(async () => expect((await last.get(`resp_${said}`)).detail).to.equal('Response not found'))
    expect((await last.app.inject(`/compat/conversations/conv_${named}`)).statusCode).to.equal(404)
    expect(textOf(await last.get(young.id))).to.equal(textOf(young))
  })
})

/** @returns the UUID that an id has now, by whose time it is three days old */
function threeDaysOlder(projectDir: string, id: string): string {
  const uuid = id.slice(5)
  const hex = (Date.now() - 3 * 24 * 60 * 60 * 1000).toString(16).padStart(12, '0')
  const older = `${hex.slice(0, 8)}-${hex.slice(8)}${uuid.slice(13)}`
  replaceInStore(projectDir, uuid, older)
  return older
}

function readStore(projectDir: string, key: string): string {
  const db = new Database(join(projectDir, 'responses', 'responses.db'))
  const row = db.prepare('SELECT value FROM keyv WHERE key LIKE ?').get([`%${key}`]) as { value: string }
  db.close()
  return row.value
}

function replaceInStore(projectDir: string, text: string, other: string): void {
  const db = new Database(join(projectDir, 'responses', 'responses.db'))
  const args = [text, other, text, other]
  db.prepare('UPDATE keyv SET key = replace(key, ?, ?), value = replace(value, ?, ?)').run(args)
  db.close()
}

function hasLimits(): boolean {
  try {
    return execFileSync('prlimit', ['--version']).length > 0
  } catch {
    return false
  }
}
