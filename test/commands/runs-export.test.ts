import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openProject } from '../../src/index.ts'
import { readTapeFile } from '../../src/tape/file/read-tape.ts'
import { callCli } from '../support/call-cli.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { runCli, withFileLimit } from '../support/run-cli.ts'
import { hasRedis, type StoreServer, startRedis } from '../support/store-servers.ts'
import { makeProject } from '../support/temp-project.ts'

const ECHO = { 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n', 'package.json': '{}' }
const KEY = 'a-key-of-this-test-0123'

/** Runs the agent of a new project once, in a server that is gone afterwards. */
async function runOnce(options: { debug: boolean; record: number }) {
  const { dir } = await makeProject(ECHO)
  const project = await openProject({ projectDir: dir, logLevel: 'silent', ...options })
  const { runId } = await project.host.run('echo', 'hello')
  await project.close()
  return { dir, runId }
}

describe('runs export', () => {
  it('writes the tape of a run, for its owner alone', async () => {
    const { dir, runId } = await runOnce({ debug: true, record: 1 })
    const file = `echo-${runId}.jsonl.gz`
    expect(await callCli(['runs', 'export', runId.slice(0, 8)], { cwd: dir })).include({
      exitCode: 0,
      stdout: `Wrote the tape to ${file}\n`,
    })
    expect((await readTapeFile(join(dir, file))).runs[0]?.end.text).equal('hello')
    expect(statSync(join(dir, file)).mode & 0o777).equal(0o600)
    const again = await callCli(['runs', 'export', runId], { cwd: dir })
    expect([again.exitCode, again.stderr]).deep.equal([
      1,
      `Error: ${file} already exists.\n  Choose another file with --output, or remove it.\n`,
    ])
    expect(await callCli(['runs', 'export', runId, '--output', 'other.gz'], { cwd: dir })).include({ exitCode: 0 })
  })

  it('leaves no part of a file where the disk is full', async () => {
    const { dir } = await makeProject(ECHO)
    const project = await openProject({ projectDir: dir, logLevel: 'silent', debug: true, record: 1 })
    const limit = 512 * 1024
    const { runId } = await project.host.run('echo', randomBytes(limit).toString('hex'))
    await project.close()
    await callCli(['runs'], { cwd: dir })
    const full = await runCli(['runs', 'export', runId, '--output', 'run.gz'], {
      cwd: dir,
      runtime: withFileLimit(limit),
    })
    expect([full.exitCode, full.stdout]).deep.equal([1, ''])
    expect(readdirSync(dir).filter((name) => name.includes('run.gz'))).deep.equal([])
  })

  it('writes the redacted trace of a run that was not recorded', async () => {
    process.env.EXPORT_TEST_KEY = KEY
    try {
      const { dir } = await makeProject(ECHO)
      const project = await openProject({ projectDir: dir, logLevel: 'silent', debug: true, record: 0 })
      const { runId } = await project.host.run('echo', `hello ${KEY}`)
      await project.close()
      const { stdout } = await callCli(['runs', 'export', runId], { cwd: dir })
      expect(stdout).equal(`Wrote the trace to echo-${runId}.jsonl\n`)
      const text = readFileSync(join(dir, `echo-${runId}.jsonl`), 'utf8')
      const events = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).event_type)
      expect(events).deep.equal(['call', 'call', 'result', 'result', 'end'])
      expect(text).include('hello [redacted]').not.include(KEY)
    } finally {
      delete process.env.EXPORT_TEST_KEY
    }
  })

  it('writes the tape of a run without a trace, and says so where there is neither', async () => {
    const { dir, runId } = await runOnce({ debug: false, record: 1 })
    expect((await callCli(['runs', 'export', runId], { cwd: dir })).stdout).equal(
      `Wrote the tape to ${runId}.jsonl.gz\n`,
    )
    const unknown = await callCli(['runs', 'export', 'zzzz'], { cwd: dir })
    expect(unknown.stderr).match(/^Error: There is no run 'zzzz'\./)
  })
})

describeWith('redis-server', hasRedis(), 'runs export of a run on another server', () => {
  let redis: StoreServer
  before(async () => {
    redis = await startRedis()
  })
  after(() => redis.remove())

  it('fetches its tape from there; without a server, says where it is', async () => {
    const [here, there] = [(await makeProject(ECHO)).dir, (await makeProject(ECHO)).dir]
    const options = { logLevel: 'silent' as const, store: redis.url, debug: true, record: 1 }
    const project = await openProject({ ...options, projectDir: there, serverName: 'web-1' })
    const args = (runId: string) => ['runs', 'export', runId, '--store', redis.url]
    try {
      const { runId } = await project.host.run('echo', 'hello')
      await eventually(async () => {
        const listed = await callCli(['runs', '--store', redis.url], { cwd: here })
        expect(listed.stdout).include('web-1')
      }, 10_000)
      expect((await callCli(args(runId), { cwd: here })).stdout).equal(`Wrote the tape to echo-${runId}.jsonl.gz\n`)
      expect((await readTapeFile(join(here, `echo-${runId}.jsonl.gz`))).runs[0]?.turn.run_id).equal(runId)
    } finally {
      await project.close()
    }
    const [file = ''] = readdirSync(here).filter((name) => name.startsWith('echo-'))
    const late = await callCli([...args(file.slice('echo-'.length, -'.jsonl.gz'.length)), '--output', 'late'], {
      cwd: here,
    })
    expect(late.stderr).match(/^Error: Server 'web-1' has ended\. The events are in its folder \.\/debug\./)
  })
})
