import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { buildServer } from '../../../src/server/server.ts'
import { readTape } from '../../../src/tape/read-tape.ts'
import { toSavedRun } from '../../../src/tape/saved-test.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, askRaw } from '../../support/graphql.ts'
import { pathOfTape } from '../../support/tapes.ts'
import { makeProject } from '../../support/temp-project.ts'

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
      expect(readTape(rawPayload, 't').runs[0]?.end.text).equal('hello')
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
      // The sweeper has seen the row of the response.
      const stored = `${dir}/debug/tapes/stored.txt`
      await eventually(() => expect(existsSync(stored)).equal(true))
      return { id, path }
    }
    try {
      const one = await create()
      await server.app.inject({ method: 'DELETE', url: `/compat/responses/${one.id}` })
      await eventually(() => expect(existsSync(one.path)).equal(false))
      const two = await create()
      await eventually(async () => {
        expect(readFileSync(`${dir}/debug/tapes/stored.txt`, 'utf8')).include(two.id.slice('resp_'.length))
      })
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
      const saved = toSavedRun(readTape(readFileSync(path), 't'))
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
