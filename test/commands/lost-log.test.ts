import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'
import { needsTerminal, PTY } from '../support/terminal.ts'

/** Says which process answers, and how long that has worked. */
const FILES = {
  'agents/own.yml': 'id: own\nmodules:\n  - id: own\n    module: own\n',
  'modules/own.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
    export default defineModule({
      name: 'Own',
      provides: [TextMessageHandler],
      uses: { response: Response },
      create: ({ response }) => ({
        async handleText() {
          const { user, system } = process.cpuUsage()
          await response.respondText(JSON.stringify({ pid: process.pid, workedMs: (user + system) / 1000 }))
        },
      }),
    })`,
}

async function ask(url: string): Promise<{ pid: number; workedMs: number }> {
  const body = JSON.stringify({ model: 'own', messages: [{ role: 'user', content: 'hello' }] })
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/compat/chat/completions`, { method: 'POST', headers, body })
  const { choices } = (await reply.json()) as { choices: [{ message: { content: string } }] }
  return JSON.parse(choices[0].message.content)
}

/** The server answers, rests when nobody asks, and ends on SIGTERM. */
async function expectWell(url: string): Promise<void> {
  const { pid, workedMs } = await ask(url)
  try {
    // Each is a line of the log.
    for (let n = 0; n < 5; n++) expect((await fetch(`${url}/nowhere`)).status).to.equal(404)
    await setTimeout(2000)
    expect((await ask(url)).workedMs - workedMs).to.be.lessThan(1000)
    process.kill(pid, 'SIGTERM')
    await eventually(() => expect(() => process.kill(pid, 0)).to.throw('ESRCH'), 10_000)
  } catch (error) {
    process.kill(pid, 'SIGKILL')
    throw error
  }
}

describe('a server whose log cannot be written', () => {
  afterEach(killRunning)

  it('goes on where the disk is full, says so once on standard error, and ends on SIGTERM', async () => {
    const { dir } = await makeProject(FILES)
    const port = await freePort()
    const server = startCli(['serve', '--adapter', 'ChatCompatApiAdapter', '--port', `${port}`], {
      cwd: dir,
      runtime: ['sh', '-c', 'exec "$0" "$@" >/dev/full', process.execPath],
    })
    const url = `http://127.0.0.1:${port}`
    await server.printed(/ENOSPC/)
    await eventually(() => ask(url), 20_000)
    await expectWell(url)
    const said = 'The log cannot be written: ENOSPC: no space left on device, write. The server keeps running.\n'
    expect(server.output()).to.equal(said)
  }).timeout(60_000)

  for (const command of ['dev', 'serve']) {
    it(`goes on where the terminal of ${command} is gone, and ends on SIGTERM`, async function () {
      needsTerminal(this)
      const { dir } = await makeProject(FILES)
      const port = await freePort()
      const terminal = startCli([command, '--adapter', 'ChatCompatApiAdapter', '--port', `${port}`], {
        cwd: dir,
        // In a session of its own: no SIGHUP tells it.
        runtime: ['python3', PTY, 'setsid', '--wait', process.execPath],
      })
      await terminal.printed(/listening at|q quit/)
      const url = `http://127.0.0.1:${port}`
      await eventually(() => ask(url), 20_000)
      await terminal.stop('SIGKILL')
      await expectWell(url)
    }).timeout(60_000)
  }
})
