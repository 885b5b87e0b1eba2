import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { killRunning, type RunningCli, runCli, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const CHAT = ['--adapter', 'ChatCompatApiAdapter', '--port', '0']
const ECHO = 'id: echo\nmodules:\n  - id: echo\n    module: echo\n'

/** An agent whose module runs this when it is spoken to. */
const handler = (body: string) => ({
  'agents/own.yml': 'id: own\nmodules:\n  - id: own\n    module: own\n',
  'modules/own.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
    export default defineModule({
      name: 'Own',
      provides: [TextMessageHandler],
      uses: { response: Response },
      create: ({ response }) => ({ async handleText() { ${body} } }),
    })`,
})

async function addressOf(server: RunningCli): Promise<string> {
  return (await server.printed(/listening at (http:\/\/[\d.:]+)/))[1] as string
}

async function ask(url: string, model: string): Promise<{ status: number; content: string | undefined }> {
  const response = await fetch(`${url}/compat/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })
  const { choices } = (await response.json()) as { choices?: [{ message: { content: string } }] }
  return { status: response.status, content: choices?.[0].message.content }
}

describe('serve', () => {
  afterEach(killRunning)

  it('serves the agents over the named adapter, and exits with 0 on SIGTERM and SIGINT', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const serveUntil = async (signal: NodeJS.Signals) => {
      const server = startCli(['serve', ...CHAT], { cwd: dir })
      expect(await ask(await addressOf(server), 'echo')).to.deep.equal({ status: 200, content: 'hello' })
      expect(await server.stop(signal)).to.equal(0)
    }
    await Promise.all([serveUntil('SIGTERM'), serveUntil('SIGINT')])
  })

  it('logs what the MCP SDK warns of on the console, and leaves other warnings there', async () => {
    const warn = "console.warn('[mcp-sdk] a stale stamp'); console.warn('of my own')"
    const files = handler(warn)
    const { dir } = await makeProject({ ...files, 'modules/own.ts': `${warn}\n${files['modules/own.ts']}` })
    const server = startCli(['serve', ...CHAT], { cwd: dir })
    await ask(await addressOf(server), 'own')
    await server.printed(/"level":40,[^\n]*"msg":"a stale stamp"[\s\S]*"level":40,[^\n]*"msg":"a stale stamp"/)
    await server.printed(/^of my own$[\s\S]*^of my own$/m)
    expect(server.output()).not.to.contain('[mcp-sdk]')
  })

  it('reads its options from the environment', async () => {
    const { dir } = await makeProject({ 'more/echo.yml': ECHO })
    const env = {
      AGENT_HOST_ADAPTER: 'ChatCompatApiAdapter,',
      AGENT_HOST_PORT: '0',
      AGENT_HOST_AGENT_DIR: 'more',
      CUSTOM_COMPAT_API_KEY: 'k-1',
    }
    const url = await addressOf(startCli(['serve'], { cwd: dir, env }))
    expect((await fetch(`${url}/compat/models`)).status).to.equal(401)
    const listed = await fetch(`${url}/compat/models`, { headers: { authorization: 'Bearer k-1' } })
    const { data } = (await listed.json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).to.deep.equal(['echo'])
  })

  it('starts without an adapter, with a warning that lists them', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = startCli(['serve', '--port', '0'], { cwd: dir })
    await addressOf(server)
    await server.printed(/"level":40.*No adapter is selected.*agent-host serve --adapter ChatCompatApiAdapter /)
  })

  it('exits with 1 and a suggestion for an unknown adapter', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const { exitCode, stderr } = await runCli(['serve', '--adapter', 'x.ChatCompatApiAdaptr'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/^Error: The adapter 'x\.ChatCompatApiAdaptr' was not found\.\n {2}Did you mean/)
  })

  it('exits with 1 if the port is in use', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const other = createServer().listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => other.once('listening', resolve))
      const { port } = other.address() as { port: number }
      const { exitCode, stderr } = await runCli(['serve', '--port', `${port}`], { cwd: dir })
      expect({ exitCode, stderr }).to.deep.equal({
        exitCode: 1,
        stderr: `Error: Port ${port} is in use.\n  Choose another: agent-host serve --port ${port + 1}\n`,
      })
    } finally {
      other.close()
    }
  })

  it('warns about a public server without a key, which --require-auth rejects', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const { exitCode, stderr } = await runCli(['serve', ...CHAT, '--host', '0.0.0.0', '--require-auth'], { cwd: dir })
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(
      /^Error: 0\.0\.0\.0 can be reached from other machines, and ChatCompatApiAdapter requires no key;/,
    )
    expect(stderr).to.match(/\n {2}Close it with CUSTOM_COMPAT_API_KEY=/)
    const open = startCli(['serve', ...CHAT, '--host', '0.0.0.0'], { cwd: dir })
    await open.printed(/Close it with CUSTOM_COMPAT_API_KEY=\$\(openssl rand -hex 32\) agent-host serve/)
    await open.stop()
  })

  it("survives floating rejections and late exceptions in an agent's code", async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': ECHO,
      ...handler(`
        void Promise.reject(new Error('forgotten'))
        setTimeout(() => { throw new Error('too late') }, 1)
        await response.respondText('fine')`),
    })
    const server = startCli(['serve', ...CHAT], { cwd: dir })
    const url = await addressOf(server)
    expect(await ask(url, 'own')).to.deep.equal({ status: 200, content: 'fine' })
    await server.printed(/"level":50.*A rejected promise in an agent's code that nothing handled.*forgotten/)
    await server.printed(/"level":50.*An error in an agent's code that nothing handled.*too late/)
    expect(await ask(url, 'echo')).to.deep.equal({ status: 200, content: 'hello' })
    expect(await server.stop()).to.equal(0)
  })

  it('survives a floating rejection while a module loads', async () => {
    const own = handler(`await response.respondText('fine')`)
    const { dir } = await makeProject({
      ...own,
      'modules/own.ts': `${own['modules/own.ts']}\nvoid Promise.reject(new Error('forgotten'))`,
    })
    const server = startCli(['serve', ...CHAT], { cwd: dir })
    expect(await ask(await addressOf(server), 'own')).to.deep.equal({ status: 200, content: 'fine' })
    await server.printed(/A rejected promise in an agent's code that nothing handled.*forgotten/)
    expect(await server.stop()).to.equal(0)
  })

  it('lets a running answer finish on the first signal', async () => {
    const { dir } = await makeProject(
      handler(`
        console.log('handling')
        await new Promise((resolve) => setTimeout(resolve, 300))
        await response.respondText('whole')`),
    )
    const answerUntil = async (signal: NodeJS.Signals) => {
      const server = startCli(['serve', ...CHAT], { cwd: dir })
      const answer = ask(await addressOf(server), 'own')
      await server.printed(/handling/)
      expect(await server.stop(signal)).to.equal(0)
      expect(await answer).to.deep.equal({ status: 200, content: 'whole' })
    }
    await Promise.all([answerUntil('SIGTERM'), answerUntil('SIGHUP')])
  })

  it('serves what was there at the start with --no-watch, until SIGHUP has it read again', async () => {
    const one = handler("await response.respondText('one')")
    const { dir, write } = await makeProject({ ...one, 'agents/echo.yml': ECHO })
    const [fixed, watching] = [['--no-watch'], []].map((flags) => startCli(['serve', ...CHAT, ...flags], { cwd: dir }))
    if (!fixed || !watching) return
    const [url, other] = [await addressOf(fixed), await addressOf(watching)]
    const say = async (address: string) => (await ask(address, 'own')).content
    expect([await say(url), await say(other)]).to.deep.equal(['one', 'one'])
    await write('modules/own.ts', one['modules/own.ts'].replace("'one'", "'two'"))
    await write('agents/echo.yml', ECHO.replace('id: echo\n', 'id: again\n'))
    await eventually(async () => {
      expect([await say(other), (await ask(other, 'again')).status]).to.deep.equal(['two', 200])
    })
    expect([await say(url), (await ask(url, 'again')).status]).to.deep.equal(['one', 400])
    fixed.signal('SIGHUP')
    await eventually(async () => expect([await say(url), (await ask(url, 'again')).status]).to.deep.equal(['two', 200]))
    await write('agents/own.yml', 'id: own\nmodules: [{ id: own, module: nowhere }]')
    fixed.signal('SIGHUP')
    await fixed.printed(/agents\/own\.yml[^\n]*nowhere/)
    expect(await say(url)).to.equal('two')
    expect(await fixed.stop()).to.equal(0)
  })

  it('serves what is written while it starts: at once, and with --no-watch after a SIGHUP of that time', async () => {
    const one = handler("await response.respondText('one')")
    const slow = `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
console.log('loading')
while (!existsSync('go')) await setTimeout(20)
${one['modules/own.ts']}`
    for (const flags of [[], ['--no-watch']]) {
      const { dir, write } = await makeProject({ ...one, 'modules/own.ts': slow })
      const server = startCli(['serve', ...CHAT, ...flags], { cwd: dir })
      await server.printed(/loading/)
      if (flags.length > 0) server.signal('SIGHUP')
      await write('modules/own.ts', one['modules/own.ts'].replace("'one'", "'two'"))
      await write('go', '')
      const url = await addressOf(server)
      await eventually(async () => expect((await ask(url, 'own')).content, flags.join()).to.equal('two'))
      expect(await server.stop()).to.equal(0)
    }
  })

  it('exits with 0 on a signal while it starts, and leaves no program behind', async () => {
    // It says nothing, and hears nothing.
    const deaf = `import { appendFileSync } from 'node:fs'
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => {})
setInterval(() => {}, 1000)
appendFileSync('pids', process.pid + ' ')`
    const servers = `[{ name: deaf, command: ${JSON.stringify(process.execPath)}, args: [deaf.mjs] }]`
    const agent = `id: tools\nmodules: [{ id: tools, module: tools/mcp, config: { servers: ${servers} } }, { id: echo, module: echo }]`
    for (const processes of ['1', '2']) {
      const { dir, path } = await makeProject({ 'agents/tools.yml': agent, 'deaf.mjs': deaf })
      const server = startCli(['serve', ...CHAT, '--processes', processes], { cwd: dir })
      const pids = await eventually(() => {
        const all = readFileSync(path('pids'), 'utf8').trim().split(' ')
        expect(all).to.have.length(Number(processes))
        return all
      }, 40_000)
      expect(await server.stop()).to.equal(0)
      for (const pid of pids) await eventually(() => expect(() => process.kill(Number(pid), 0)).to.throw('ESRCH'), 3000)
    }
  }).timeout(90_000)

  it('exits at once with 1 on a second signal', async () => {
    const { dir } = await makeProject(handler(`console.log('handling'); await new Promise(() => {})`))
    const server = startCli(['serve', ...CHAT, '--drain-timeout', '60'], { cwd: dir })
    const answer = ask(await addressOf(server), 'own').catch(() => 'cut off')
    await server.printed(/handling/)
    server.signal('SIGTERM')
    await server.printed(/Stopping/)
    expect(await server.stop()).to.equal(1)
    expect(await answer).to.equal('cut off')
    expect(server.output()).not.to.contain('did not stop in order')
  })
})
