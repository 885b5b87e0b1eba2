import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const GOOD = 'id: good\nmodules:\n  - id: echo\n    module: echo\n'
const BAD = 'id: bad\nmodules:\n  - id: echo\n    module: ecco\n'
const BAD_CONFIG = 'id: worse\nmodules:\n  - id: echo\n    module: echo\n    config: { prefx: hi }\n'

describe('check', () => {
  afterEach(killRunning)

  it('lists every valid agent, and the origin of its modules', async () => {
    const { dir } = await makeProject({ 'agents/good.yml': GOOD })
    expect(await runCli(['check'], { cwd: dir })).to.deep.equal({
      exitCode: 0,
      stdout: "agents/good.yml: 'good' is fine\n  echo: echo (library)\n1 agent, 0 problems\n",
      stderr: '',
    })
  })

  it('ends where the server of a document answers 101, and names the document', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
    const config = JSON.stringify({ document: url, base_url: url })
    const { dir } = await makeProject({
      'agents/shop.yml': `id: shop\nmodules: [{ id: echo, module: echo }, { id: api, module: tools/openapi, config: ${config} }]`,
    })
    const { exitCode, stderr } = await runCli(['check'], { cwd: dir })
    expect(stderr).to.contain(`${url}: the document cannot be fetched: the server answered 101.`)
    expect(exitCode).to.equal(1)
    server.close()
  })

  it("marks the project's copy of a library module as ejected, in text and JSON", async () => {
    const { dir } = await makeProject({ 'agents/good.yml': GOOD })
    await callCli(['eject', '-m', 'echo'], { cwd: dir })
    expect((await callCli(['check'], { cwd: dir })).stdout).to.contain('  echo: echo (ejected)\n')
    const { agents } = JSON.parse((await callCli(['check', '--json'], { cwd: dir })).stdout)
    expect(agents[0].modules).to.deep.equal([{ id: 'echo', module: 'echo', source: 'ejected', scope: 'instance' }])
  })

  it('exits with 1 and lists the problems of every file with line and column', async () => {
    const { dir } = await makeProject({
      'agents/good.yml': GOOD,
      'agents/bad.yml': BAD,
      'agents/worse.yml': BAD_CONFIG,
    })
    const { exitCode, stdout, stderr } = await callCli(['check'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stdout).to.match(/1 agent, 2 problems\n$/)
    expect(stderr).to.match(/^agents\/bad\.yml:4:5: .*'ecco'/m)
    expect(stderr).to.match(/^agents\/worse\.yml:5:\d+: .*prefx/m)
    expect(stderr).to.contain("Did you mean 'prefix'?")
  })

  it('refuses names of agents that there are none of', async () => {
    const team = (name: string) => `${GOOD}  - { id: team, module: tools/agents, config: { agents: [${name}] } }\n`
    const { dir, write } = await makeProject({
      'agents/good.yml': team('biling'),
      'agents/billing.yml': GOOD.replace('good', 'billing'),
    })
    const { exitCode, stdout, stderr } = await callCli(['check'], { cwd: dir })
    expect([exitCode, stdout.split('\n').filter((line) => /good|problem/.test(line))]).to.deep.equal([
      1,
      ['2 agents, 1 problem'],
    ])
    expect(stderr).to.match(/^agents\/good\.yml:5:\d+: module 'team' \(tools\/agents\): there is no agent 'biling'/)
    expect(stderr).to.contain("\n  Did you mean 'billing'?\n").not.contain('Warning')
    await write('agents/good.yml', team('billing'))
    expect((await callCli(['check'], { cwd: dir })).exitCode).to.equal(0)
  })

  it('checks the named files, relative to the current folder', async () => {
    const { path } = await makeProject({ 'agents/good.yml': GOOD, 'agents/bad.yml': BAD, 'package.json': '{}' })
    const { exitCode, stdout } = await callCli(['check', 'good.yml'], { cwd: path('agents') })
    expect([exitCode, stdout.split('\n').at(-2)]).to.deep.equal([0, '1 agent, 0 problems'])
    const other = await callCli(['check', '../package.json'], { cwd: path('agents') })
    expect([other.exitCode, other.stderr.split('\n')[0]]).to.deep.equal([
      1,
      'Error: ../package.json is no agent file of this project.',
    ])
  })

  it('refuses folders and other files among the agents: they would be without problems', async () => {
    const { dir } = await makeProject({ 'agents/bad.yml': BAD, 'agents/notes.md': 'Notes', 'agents/team/bad.yml': BAD })
    for (const file of ['agents', 'agents/', 'agents/team', 'agents/notes.md', 'agents/none.yml', '']) {
      const { exitCode, stdout, stderr } = await callCli(['check', file], { cwd: dir })
      expect([exitCode, stdout, stderr]).to.deep.equal([
        1,
        '',
        `Error: ${file} is no agent file of this project.\n  Agent files are in ./agents.\n`,
      ])
    }
  })

  it('writes the schema for editors', async () => {
    const { dir, read } = await makeProject({ 'agents/good.yml': GOOD })
    await callCli(['check'], { cwd: dir })
    expect(JSON.parse(await read('.agent-host/agent.schema.json')).type).to.equal('object')
  })

  it('--watch checks again after an edit', async () => {
    const { dir, write } = await makeProject({ 'agents/good.yml': BAD })
    const running = startCli(['check', '--watch'], { cwd: dir })
    await running.printed(/0 agents, 1 problem\n[\s\S]*Waiting for changes/)
    await write('agents/good.yml', GOOD)
    await running.printed(/1 agent, 0 problems\n/)
    running.signal('SIGINT')
  })

  it('--watch ends at SIGTERM, also while it waits for changes', async () => {
    const { dir } = await makeProject({ 'agents/good.yml': GOOD })
    const running = startCli(['check', '--watch'], { cwd: dir })
    await running.printed(/Waiting for changes/)
    running.signal('SIGTERM')
    expect(await running.ended()).to.equal(null)
  })

  it('--watch ends once its reader has left', async () => {
    const { dir, write } = await makeProject({ 'agents/good.yml': GOOD })
    const runtime = ['sh', '-c', '"$0" "$@" | head -n 1', process.execPath] as const
    const running = startCli(['check', '--watch'], { cwd: dir, runtime })
    await running.printed(/is fine/)
    let isEnded = false
    const ended = running.ended().finally(() => {
      isEnded = true
    })
    for (let edits = 0; !isEnded; edits++) {
      await write('agents/good.yml', `${GOOD}\n# ${edits}`)
      await Promise.race([ended, setTimeout(500)])
    }
    expect(await ended).to.equal(0)
  })

  it('warns of keys that triggers and schedules name, and that the file of keys lacks', async () => {
    const agent = `id: good
triggers:
  - { id: push, secret: a-secret-of-enough-length, signature: bearer, key: ci }
  - { id: hook, secret: a-secret-of-enough-length, signature: bearer, key: old, tenant: acme }
schedules: [{ id: nightly, every: 1h, input: hi, key: old }]
modules: [{ id: echo, module: echo }]`
    const digest = `sha256:${'0'.repeat(64)}`
    const keys = `keys:
  - { name: ci, digest: '${digest}', scopes: [run] }
  - { name: old, tenant: acme, digest: '${digest.replaceAll('0', '1')}', scopes: [run], expires: 2020-01-01 }`
    const { dir, remove } = await makeProject({ 'agents/good.yml': agent, 'keys.yml': keys })
    const { exitCode, stderr } = await callCli(['check'], { cwd: dir })
    const text = stderr.replaceAll(/[\s›]+/g, ' ')
    expect(exitCode).to.equal(0)
    expect(text).to.include(
      "agents/good.yml:4:71: trigger 'hook': the file of keys has no key 'old' of the tenant 'acme' that is in force. It starts nothing. Add it: agent-host keys add old --tenant acme",
    )
    expect(text).to.include(
      "agents/good.yml:5:50: schedule 'nightly': the file of keys has no key 'old' without a tenant",
    )
    expect(text).to.not.include("'ci'")
    await remove('keys.yml')
    expect((await callCli(['check'], { cwd: dir })).stderr).to.equal('')
  })

  it('--json prints agents and problems', async () => {
    const { dir } = await makeProject({ 'agents/good.yml': GOOD, 'agents/bad.yml': BAD })
    const { exitCode, stdout, stderr } = await callCli(['check', '--json'], { cwd: dir })
    const { agents, problems } = JSON.parse(stdout)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 1, stderr: '' })
    expect(agents.map(({ id }: { id: string }) => id)).to.deep.equal(['good'])
    expect(problems).to.have.length(1)
    expect(problems[0]).to.include({ file: 'agents/bad.yml', line: 4, column: 5 })
    expect(problems[0]).to.have.all.keys('file', 'line', 'column', 'message', 'suggestions')
  })

  it('checks the folder of --agent-dir', async () => {
    const { dir } = await makeProject({ 'more/good.yml': GOOD })
    const { exitCode, stdout } = await callCli(['check', '--agent-dir', 'more'], { cwd: dir })
    expect({ exitCode, first: stdout.split('\n')[0] }).to.deep.equal({
      exitCode: 0,
      first: "more/good.yml: 'good' is fine",
    })
  })

  it('reports a missing project, also as JSON, and leaves nothing behind', async () => {
    const { dir } = await makeProject()
    const message = `No project found: neither ${dir} nor a folder above it holds agents/.`
    const suggestion = 'Create a project: agent-host init <name>'
    const { exitCode, stderr } = await callCli(['check'], { cwd: dir })
    expect([exitCode, stderr]).to.deep.equal([1, `${message}\n  ${suggestion}\n`])
    const asJson = await callCli(['check', '--json'], { cwd: dir })
    expect([asJson.exitCode, JSON.parse(asJson.stdout)]).to.deep.equal([
      1,
      { agents: [], problems: [{ message, suggestions: [suggestion] }] },
    ])
    expect(await readdir(dir)).to.deep.equal([])
  })

  it('names a missing agent folder', async () => {
    const { dir } = await makeProject()
    const { exitCode, stderr } = await callCli(['check', '--agent-dir', 'none'], { cwd: dir })
    expect(`${exitCode} ${stderr}`).to.match(/^1 The agent folder .*none is not there\./)
  })
})
