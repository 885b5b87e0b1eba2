import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type BuiltServer, buildServer } from '../../../src/server/server.ts'
import { readTape } from '../../../src/tape/file/read-tape.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { toSavedRun } from '../../../src/tape/saved-tests/saved-test.ts'
import { describeWith } from '../../support/describe-with.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, askRaw } from '../../support/graphql.ts'
import { hasRedis, type StoreServer, startRedis } from '../../support/store-servers.ts'
import { makeProject } from '../../support/temp-project.ts'
import { keysFile } from '../../support/tenant-visitor.ts'

const ADAPTERS = ['ResponsesCompatApiAdapter', 'UiApiAdapter']
const ECHO = 'id: echo\nmodules:\n  - { id: echo, module: echo }\n'

async function open(projectDir: string) {
  const facts = { projectDir, agentDir: `${projectDir}/agents`, responsesDir: `${projectDir}/responses` }
  return buildServer({ ...facts, adapters: ADAPTERS, debug: true, record: 1, logLevel: 'silent' })
}

describe('the tape of a stored response', () => {
  it('can be downloaded from its own page, and not from another site', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await open(dir)
    try {
      const payload = { model: 'echo', input: 'hello' }
      const created = await server.app.inject({ method: 'POST', url: '/compat/responses', payload })
      const runId = created.json().id.slice('resp_'.length)
      const url = `/api/ui/runs/${runId}/tape`
      await eventually(async () => expect((await server.app.inject(url)).statusCode).equal(200))
      const { headers, rawPayload } = await server.app.inject(url)
      expect(headers).include({
        'content-type': 'application/gzip',
        'content-disposition': `attachment; filename="${runId}.jsonl.gz"`,
      })
      expect((await readTape(rawPayload, 't')).runs[0]?.end.text).equal('hello')
      expect(gunzipSync(rawPayload).toString()).include('"type":"head"')
      const foreign = { origin: 'https://elsewhere.example' }
      expect((await server.app.inject({ url, headers: foreign })).statusCode).equal(403)
      expect((await server.app.inject('/api/ui/runs/none/tape')).statusCode).equal(404)
      expect((await server.app.inject('/api/ui/runs/..%2F..%2Fecho/tape')).statusCode).equal(404)
    } finally {
      await server.close()
    }
  })

  it('is deleted with it, by the server that has it, also one that did not run then', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    let server = await open(dir)
    const create = async () => {
      const payload = { model: 'echo', input: 'hello' }
      const { id } = (await server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json()
      const path = pathOfTape(dir, id.slice('resp_'.length))
      await eventually(() => expect(existsSync(path)).equal(true))
      return { id, path }
    }
    try {
      const one = await create()
      await server.app.inject({ method: 'DELETE', url: `/compat/responses/${one.id}` })
      await eventually(() => expect(existsSync(one.path)).equal(false))
      const two = await create()
      await server.close()
      const facts = { projectDir: dir, agentDir: `${dir}/agents`, responsesDir: `${dir}/responses` }
      const other = await buildServer({ ...facts, adapters: ['ResponsesCompatApiAdapter'], logLevel: 'silent' })
      await other.app.inject({ method: 'DELETE', url: `/compat/responses/${two.id}` })
      await other.close()
      expect(existsSync(two.path)).equal(true)
      server = await open(dir)
      await eventually(() => expect(existsSync(two.path)).equal(false))
    } finally {
      await server.close()
    }
  })
})

describe('a recorded run as a test', () => {
  it('is what `runs save` writes, under any name that a file may have; other sites see none', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await open(dir)
    try {
      const { runId } = await server.host.run('echo', 'hello')
      const path = pathOfTape(dir, runId)
      await eventually(() => expect(existsSync(path)).equal(true))
      const query = (name: string) =>
        `{ run(run_id: "${runId}") { has_tape saved_test${name} { name test_file tape_file test advice } } }`
      const { run } = await ask<{ run: object }>(server, query(''))
      const saved = toSavedRun(await readTape(readFileSync(path), 't'))
      expect(run).deep.equal({
        has_tape: true,
        saved_test: {
          name: `echo-${runId.slice(0, 8)}`,
          test_file: saved.testFile,
          tape_file: saved.tapeFile,
          test: saved.test,
          advice: null,
        },
      })
      const named = await ask(server, query('(name: "hello")'))
      expect(named).nested.property('run.saved_test.test_file', 'tests/hello.test.ts')
      const refused = await askRaw(server, { query: query('(name: "../x")') })
      expect(refused.errors?.[0]?.message).match(/^The name of a test must be letters, .*, not '..\/x'\.$/)
      const foreign = await ask(server, query(''), {}, { origin: 'https://elsewhere.example' })
      expect(foreign).nested.property('run.saved_test', null)
      writeFileSync(path, readFileSync(path).subarray(0, -40))
      const broken = await askRaw(server, { query: query('') })
      expect(broken.errors?.[0]?.message).match(/^The tape .* is cut off after line/)
    } finally {
      await server.close()
    }
  })
})

describeWith('redis-server', hasRedis(), 'the tape of a run on another server', () => {
  const keys = keysFile([
    { name: 'ann', tenant: 'acme', scopes: ['run', 'debug'] },
    { name: 'bob', tenant: 'globex', scopes: ['run', 'debug'] },
  ])
  const by = (name: string) => ({ authorization: `Bearer key-of-${name}` })
  const servers: BuiltServer[] = []
  let redis: StoreServer

  before(async () => {
    redis = await startRedis()
    for (const serverName of ['web-1', 'web-2']) {
      const { dir: projectDir } = await makeProject({ 'agents/echo.yml': ECHO, 'keys.yml': keys })
      const facts = { projectDir, agentDir: `${projectDir}/agents`, store: redis.url, serverName, keys: 'keys.yml' }
      servers.push(await buildServer({ ...facts, adapters: ADAPTERS, debug: true, record: 1, logLevel: 'silent' }))
    }
  })

  after(async () => {
    for (const server of servers) await server.close()
    await redis.remove()
  })

  it('is fetched from there, for its own tenant alone', async () => {
    const [one, other] = servers as [BuiltServer, BuiltServer]
    const payload = { model: 'echo', input: 'hello' }
    const created = await one.app.inject({ method: 'POST', url: '/compat/responses', payload, headers: by('ann') })
    const runId = created.json().id.slice('resp_'.length)
    const url = `/api/ui/runs/${runId}/tape`
    await eventually(async () => {
      expect((await other.app.inject({ url, headers: by('ann') })).statusCode).equal(200)
    }, 10_000)
    const { rawPayload } = await other.app.inject({ url, headers: by('ann') })
    expect(rawPayload.equals(readFileSync(pathOfTape(one.options.projectDir, runId)))).equal(true)
    expect(existsSync(pathOfTape(other.options.projectDir, runId))).equal(false)
    const query = `{ run(run_id: "${runId}") { has_tape saved_test { tape_file } } }`
    const askAs = async (name: string) =>
      (await other.app.inject({ method: 'POST', url: '/api/ui/graphql', payload: { query }, headers: by(name) })).json()
    const file = `tests/tapes/echo-${runId.slice(0, 8)}.jsonl.gz`
    expect((await askAs('ann')).data).deep.equal({ run: { has_tape: true, saved_test: { tape_file: file } } })
    for (const server of servers) {
      expect((await server.app.inject({ url, headers: by('bob') })).statusCode).equal(404)
    }
    expect((await askAs('bob')).data).deep.equal({ run: null })
  })
})
