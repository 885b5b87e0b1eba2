import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const agent = (id: string, prefix: string) =>
  `id: ${id}\ndescription: Says it again\nmodules:\n  - id: echo\n    module: echo\n    config: { prefix: '${prefix}' }\n`

async function ask(url: string): Promise<string> {
  const response = await fetch(`${url}/compat/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'hello' }] }),
  })
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
  return choices[0].message.content
}

describe('dev', () => {
  afterEach(killRunning)

  it('says where it is, which agents there are, what is followed, and how to ask one', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    await server.printed(/quits\./)
    expect(server.output().split('\n').filter(isBanner)).to.deep.equal([
      `agent-host is ready at ${url}`,
      'Open it in a browser to see every step of every run; without one: agent-host runs',
      '  echo  Says it again  [agents/echo.yml]',
      'Edits in agents/, modules/ and tools/ are served at once; .env is read at start.',
      `curl ${url}/compat/chat/completions \\`,
      '  -H "Content-Type: application/json" \\',
      '  -d \'{"model": "echo", "messages": [{"role": "user", "content": "What time is it in Tokyo?"}]}\'',
      'Ctrl-C quits.',
    ])
    expect(await server.stop('SIGINT')).to.equal(0)
  })

  it('names the modules that are ejected', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    await runCli(['eject', '-m', 'echo'], { cwd: dir })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/ready at .*\n.*\n\n {2}echo {2}Says it again .*\n {2}Ejected into modules\/: echo\n/)
  })

  it('never prints a key, and has the curl take it from the environment', async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', ''),
      '.env': 'CUSTOM_COMPAT_API_KEY=k-secret-1\n',
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/quits\./)
    expect(server.output())
      .to.contain('-H "Authorization: Bearer $CUSTOM_COMPAT_API_KEY"')
      .and.not.to.contain('k-secret-1')
  })

  it('tells MCP clients how to connect, and never the key', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', ''), '.env': 'MCP_API_KEY=k-secret-2\n' })
    const server = startCli(['dev', '--port', '0', '--adapter', 'McpApiAdapter'], { cwd: dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    await server.printed(/quits\./)
    const key = '"Authorization: Bearer $MCP_API_KEY"'
    expect(server.output())
      .to.contain(`claude mcp add --transport http agent-host ${url}/mcp --header ${key}`)
      .and.to.contain('{"servers":{"agent-host":{"type":"http"')
      .and.to.contain('"args":["mcp","--stdio"]')
      .and.not.to.contain('k-secret-2')
      .and.not.to.contain('/chat/completions')
  })

  it('serves an edit', async () => {
    const project = await makeProject({ 'agents/echo.yml': agent('echo', 'one ') })
    const server = startCli(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    expect(await ask(url)).to.equal('one hello')
    await project.write('agents/echo.yml', agent('echo', 'two '))
    await eventually(async () => expect(await ask(url)).to.equal('two hello'))
  })

  it('lists the first twenty of many agents, and tells of those that are not served', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `agent-${String(index).padStart(2, '0')}`)
    const files = names.map((name) => [`agents/${name}.yml`, agent(name, '')])
    const { dir } = await makeProject({ ...Object.fromEntries(files), 'agents/bad.yml': 'id: [' })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/quits\./)
    expect(
      server
        .output()
        .split('\n')
        .filter((line) => /^ {2}(agent-|and|Not)/.test(line)),
    ).to.deep.equal([
      ...names.slice(0, 20).map((name) => `  ${name}  Says it again  [agents/${name}.yml]`),
      '  and 2 more',
      '  Not served: see the warnings above (1). An edit of the file is enough.',
    ])
  })

  it('listens on 9001 unless told otherwise', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    const server = startCli(['dev'], { cwd: dir })
    // Taken or not: either message names the port.
    await server.printed(/127\.0\.0\.1:9001|The port 9001 is taken/)
  })
})

function isBanner(line: string): boolean {
  return line !== '' && !line.startsWith('{')
}
