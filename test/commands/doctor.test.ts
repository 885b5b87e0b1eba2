import { createServer } from 'node:net'
import { expect } from 'chai'
import { examineBundle, examineNode } from '../../src/commands/doctor/examine.ts'
import { callCli } from '../support/call-cli.ts'
import { edit, makeEjected } from '../support/eject.ts'
import { freePort } from '../support/free-port.ts'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

interface Finding {
  readonly state: string
  readonly subject: string
  readonly message: string
  readonly advice?: string
}

async function findingsOf(dir: string, ...args: string[]): Promise<{ exitCode: number | null; findings: Finding[] }> {
  const { exitCode, stdout } = await runCli(['doctor', '--json', ...args], { cwd: dir })
  return { exitCode, findings: JSON.parse(stdout).findings }
}

const of = (findings: readonly Finding[], subject: string) => findings.filter((each) => each.subject === subject)

describe('doctor', () => {
  it('names the proxy in use without its password, and refuses one of another kind', async () => {
    const { dir } = await makeProject({ 'agents/none.txt': '' })
    const env = { HTTPS_PROXY: 'http://me:canary@proxy.invalid:3128', NO_PROXY: 'in.example' }
    const { stdout } = await runCli(['doctor'], { cwd: dir, env })
    expect(stdout).contain(
      '✓ Proxy      Requests go to http://proxy.invalid:3128 (HTTPS_PROXY), but not to in.example (NO_PROXY).\n',
    )
    const { exitCode, stderr } = await runCli(['doctor'], { cwd: dir, env: { HTTPS_PROXY: 'socks5://canary:1' } })
    expect(exitCode).equal(2)
    expect(stdout + stderr).not.contain('canary')
    expect(stderr).contain('Error: HTTPS_PROXY must be an address like http://proxy.example:3128.')
  })

  it('reports success, and missing things with the next step', async () => {
    const { dir } = await makeProject({ 'agents/none.txt': '' })
    const port = await freePort()
    const { exitCode, stdout, stderr } = await callCli(['doctor', '--port', `${port}`], { cwd: dir })
    expect([exitCode, stderr]).deep.equal([0, ''])
    expect(stdout)
      .contain(`✓ Node       ${process.versions.node}\n`)
      .contain(`✓ Project    ${dir}\n`)
      .contain(
        '! Models     No key is set: llm/auto answers with the offline model.\n             Set one in .env for a real model: OPENAI_API_KEY',
      )
      .contain(`✓ Port       ${port} is free.\n`)
      .contain('✓ Stores     debug/ and responses/ can be written.\n')
  })

  it('reports an unreachable provider without showing the key, and exits with 1', async () => {
    const port = await freePort()
    const env = `OLLAMA_BASE_URL=http://me:sk-hidden@127.0.0.1:${port}\nOTHER_API_KEY=sk-hidden\n`
    const { dir } = await makeProject({ 'agents/none.txt': '', '.env': env })
    const { exitCode, findings } = await findingsOf(dir)
    expect(exitCode).equal(1)
    expect(of(findings, 'Models')).deep.equal([
      {
        state: 'problem',
        subject: 'Models',
        message: `OLLAMA_BASE_URL is set, but http://127.0.0.1:${port} cannot be reached: ECONNREFUSED`,
        advice: 'Check the network, a proxy, or the address.',
      },
    ])
    expect(JSON.stringify(findings)).not.contain('sk-hidden')
  })

  it('speaks of what the agents use, and asks the addresses that they use', async () => {
    const [port, gone] = [await freePort(), await freePort()]
    const server = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    const agent = (id: string, url: string) => `id: ${id}
modules:
  - { id: llm, module: llm/openai-compatible, config: { base_url: '${url}', model: m } }
  - { id: loop, module: orchestrator/tool-loop }`
    const { dir } = await makeProject({
      'agents/a.yml': agent('a', '${MODEL_URL}/v1'),
      'agents/b.yml': agent('b', `http://127.0.0.1:${port}/v1`),
      'agents/c.yml': agent('c', `http://127.0.0.1:${gone}`),
      'agents/d.yml': 'id: d\nmodules: [{ id: main, module: nothing }]',
      '.env': `MODEL_URL=http://127.0.0.1:${port}\n`,
    })
    const { exitCode, findings } = await findingsOf(dir)
    server.close()
    expect(exitCode).equal(1)
    expect(of(findings, 'Agents').map(({ message }) => message)).deep.equal(['1 agent file cannot be used.'])
    expect(of(findings, 'Addresses').map(({ state, message }) => [state, message])).deep.equal([
      ['ok', `For a/llm, b/llm, http://127.0.0.1:${port}/v1 answers.`],
      ['problem', `For c/llm, but http://127.0.0.1:${gone} cannot be reached: ECONNREFUSED`],
    ])
    // Neither the model of the environment nor Python is of use to them.
    expect([...of(findings, 'Models'), ...of(findings, 'Python')]).deep.equal([])
  })

  it('names the versions of bundled packages, which are not in node_modules', async () => {
    const [found] = await examineBundle(new URL('../../dist/bundled-packages.json', import.meta.url))
    expect(found?.message).match(/^@fastify\/swagger 9\.\d.*, fastify 5\.\d.*, and \d+ packages that they need: dist\//)
  })

  it('reports a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const { dir } = await makeProject()
    const { findings } = await findingsOf(dir, '--port', String(port))
    other.close()
    expect(of(findings, 'Port')[0]?.message).equal(`${port} is in use.`)
    expect(of(findings, 'Project')[0]?.state).equal('warning')
  })

  it('reports a number of the environment that no port has', async () => {
    const { dir } = await makeProject()
    const { stdout } = await callCli(['doctor', '--json'], { cwd: dir, env: { AGENT_HOST_PORT: '99999' } })
    const [found] = of(JSON.parse(stdout).findings, 'Port')
    expect([found?.state, found?.message.split(':')[0]]).deep.equal(['warning', '99999 cannot be used'])
    expect(found?.advice).equal('Choose another: agent-host dev --port 8000')
  })

  it('reports outdated ejected modules', async () => {
    const project = await makeEjected('echo')
    expect(of((await findingsOf(project.dir)).findings, 'Ejected')[0]?.message).equal('1, all up to date.')
    await edit(project, '.agent-host/ejected/echo.ts', 'Echo', 'Older')
    expect(of((await findingsOf(project.dir)).findings, 'Ejected')[0]?.message).equal(
      'agent-host has newer versions of echo.',
    )
  })

  for (const [version, state] of [
    ['20.19.9', 'problem'],
    ['20.20.0', 'ok'],
    ['18.20.0', 'problem'],
    ['26.0.0', 'ok'],
  ]) {
    it(`calls Node ${version} ${state}`, () => {
      expect(examineNode(version as string).state).equal(state)
    })
  }
})
