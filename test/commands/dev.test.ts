import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { openSocket } from '../support/response-socket.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'
import { closeTerminals, KEYS, needsTerminal, openTerminal } from '../support/terminal.ts'

const agent = (id: string, prefix: string) =>
  `id: ${id}\ndescription: Says it again\nmodules:\n  - id: echo\n    module: echo\n    config: { prefix: '${prefix}' }\n`

const TRIGGERS = 'triggers: [{ id: hook, secret: a-secret-of-enough-length, signature: bearer }]\n'

function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', origin: url }
  return fetch(`${url}/api/ui/questions`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function ask(url: string, content = 'hello', model = 'echo'): Promise<string> {
  const response = await fetch(`${url}/compat/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
  return choices[0].message.content
}

describe('dev', () => {
  afterEach(killRunning)

  it('prints its address, agents, watched folders and a request to try, and how long it waits when it stops', async () => {
    const example = '\nexamples: ["What\'s \\"new\\"?"]'
    const { dir } = await makeProject({
      'agents/bare.yml': `${agent('bare', '')}${TRIGGERS}`,
      'agents/echo.yml': agent('echo', '').replace('again', `again${example}`),
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    await server.printed(/Ctrl-C stops/)
    expect(server.output().split('\n').filter(isBanner)).to.deep.equal([
      `agent-host is ready at ${url}`,
      `  Chat       ${url}/compat/chat/completions`,
      `  Responses  ${url}/compat/responses`,
      `  MCP        ${url}/mcp`,
      `  Debug UI   ${url}/`,
      `  API docs   ${url}/docs`,
      `  Trigger    ${url}/triggers/bare/hook`,
      '  bare  Says it again  [agents/bare.yml]',
      '  echo  Says it again  [agents/echo.yml]',
      'Edits in agents/, modules/ and tools/ are live; .env is read at start.',
      `curl ${url}/compat/chat/completions \\`,
      '  -H "Content-Type: application/json" \\',
      String.raw`  -d '{"model": "echo", "messages": [{"role": "user", "content": "What'\''s \"new\"?"}]}'`,
      'Ctrl-C stops the server.',
    ])
    expect(await server.stop('SIGINT')).to.equal(0)
    expect(server.output()).to.contain('Stopping: running work has 1 s to finish. A second signal stops at once.')
  })

  it('prints the token of the debug UI behind its address, and where keys belong', async () => {
    const digest = `sha256:${'0'.repeat(64)}`
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', ''),
      'keys.yml': `keys: [{ name: ann, digest: "${digest}", scopes: [run] }]`,
    })
    const env = { AGENT_HOST_UI_TOKEN: 'a+b', AGENT_HOST_KEYS: 'keys.yml' }
    const server = startCli(['dev', '--port', '0'], { cwd: dir, env })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    await server.printed(/Ctrl-C stops/)
    expect(server.output()).to.contain(`  Debug UI   ${url}/#token=a%2Bb\n`)
    expect(server.output()).to.contain('  -H "Authorization: Bearer <your key>"')
    expect((await fetch(`${url}/api/ui/live`, { headers: { authorization: 'Bearer a+b' } })).status).to.equal(200)
    expect((await fetch(`${url}/api/ui/live`)).status).to.equal(401)
  })

  it('logs in local time, and prints no control characters, whatever their source', async function () {
    needsTerminal(this)
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', '').replace('Says', '"\\e[2Jbanner').replace('again', 'again"'),
      'agents/odd.yml': 'id: odd\n"\\e[2J\\u202elogged": 1\nmodules: [{ id: main, module: echo }]',
    })
    const hourInTokyo = () => new Date().toLocaleString('en-GB', { timeZone: 'Asia/Tokyo', hour: '2-digit' })
    const before = hourInTokyo()
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: dir, env: { TZ: 'Asia/Tokyo' } })
    const [, hour] = await terminal.shows(/\[(\d\d):\d\d:\d\d\] WARN: .*\\u001b\[2J\\u202elogged/)
    expect([before, hourInTokyo()]).to.include(hour)
    await terminal.shows(/\\u001b\[2Jbanner/)
    terminal.type(KEYS.ctrlC)
    await terminal.ended
  })

  it('lists ejected modules', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    await callCli(['eject', '-m', 'echo'], { cwd: dir })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/\n\n {2}echo {2}Says it again .*\n {2}Ejected into modules\/: echo\n/)
  })

  it('never prints a key; the curl command reads it from the environment', async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', ''),
      '.env': 'CUSTOM_COMPAT_API_KEY=k-secret-1\n',
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/Ctrl-C stops/)
    expect(server.output())
      .to.contain('-H "Authorization: Bearer $CUSTOM_COMPAT_API_KEY"')
      .and.not.to.contain('k-secret-1')
  })

  it('does not use a variable with named keys as a single key', async () => {
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', ''),
      '.env': 'CUSTOM_COMPAT_API_KEY=alice:run:k-secret-1,bob:run:k-secret-2\n',
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/Ctrl-C stops/)
    expect(server.output()).to.contain('-H "Authorization: Bearer <your key>"').and.not.to.contain('k-secret')
  })

  it('serves every built-in adapter on one address by default', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    }
    expect(await ask(url)).to.equal('hello')
    expect(await post('/compat/responses', { model: 'echo', input: 'hello' })).to.contain('"text":"hello"')
    expect(await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).to.contain('"name":"echo"')
    expect((await fetch(url)).headers.get('content-type')).to.match(/^text\/html/)
    const one = startCli(['dev', '--port', '0', '--adapter', 'McpApiAdapter'], { cwd: dir })
    await one.printed(/Ctrl-C stops/)
    expect(one.output()).to.contain('/mcp').and.not.to.contain('/chat/completions')
  })

  it('logs where a tool throws, and once that the offline model answers', async () => {
    const tool = `import { defineTool, Type } from 'agent-host'
export const lookup = defineTool({ description: 'Looks up.', parameters: Type.Object({}), execute() {
  throw new Error('no luck')
} })
`
    const looker = `id: looker
modules:
  - { id: llm, module: llm/auto }
  - { id: tools, module: tools/local, config: { files: [tools/lookup.ts] } }
  - { id: loop, module: orchestrator/tool-loop }
`
    const project = await makeProject({ 'agents/looker.yml': looker, 'tools/lookup.ts': tool })
    const server = startCli(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    const post = (model: string) =>
      fetch(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'lookup' }] }),
      })
    await post('looker')
    await server.printed(/"level":40.*lookup.*failed: .*no luck.*at .*tools\/lookup\.ts:3:/)
    await project.write('agents/looker.yml', `${looker}# edited\n`)
    await server.printed(/reloaded 'looker'/)
    expect(server.output().match(/offline model answers/g)).to.have.length(1)
  })

  it('logs tool calls, rejected requests as warnings and failures as errors, but no requests of its page', async () => {
    const faulty = `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Faulty', provides: [TextMessageHandler], create: () => ({
  handleText() { throw new Error('broken') },
}) })
`
    const { dir } = await makeProject({
      'agents/echo.yml': agent('echo', ''),
      'agents/faulty.yml': 'id: faulty\nmodules: [{ id: main, module: faulty }]\n',
      'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]\n',
      'modules/faulty.ts': faulty,
      'modules/slow.ts': faulty.replace("{ throw new Error('broken') }", '{ return new Promise(() => {}) }'),
    })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      await (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    }
    const messages = [{ role: 'user', content: 'hello' }]
    await (await fetch(url)).text()
    await post('/api/ui/graphql', { query: '{ list_agents { id } }' })
    await post('/compat/chat/completions', { model: 'ecko', messages })
    await post('/compat/chat/completions', { model: 'faulty', messages })
    await post('/compat/chat/completions', { model: 'faulty', stream: true, messages })
    await post('/v1/responses', { model: 'faulty', stream: true, input: 'hello' })
    const call = { name: 'faulty', arguments: { message: 'hello' } }
    await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
    await post('/mcp', { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { ...call, name: 'nobody' } })
    await post('/mcp', { jsonrpc: '2.0', id: 3, method: 'server/discover' })
    await post('/nowhere', {})
    await (await fetch(`${url}/v1/responses`, { method: 'POST', body: 'model=echo' })).text()
    await fetch(`${url}/compat/approvals`)
    const { ask: say, send, socket } = await openSocket(url)
    for (const model of ['echo', 'nobody', 'faulty']) await say({ model, input: 'hello' })
    send({ type: 'response.create', model: 'slow', input: 'hello' })
    await once(socket, 'message')
    socket.terminate()
    await server.printed(/WS .*The client has left/)
    const leaving = new AbortController()
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, signal: leaving.signal }
    const body = JSON.stringify({ model: 'slow', stream: true, messages })
    await fetch(`${url}/compat/chat/completions`, { ...asked, body })
    leaving.abort()
    await server.printed(/POST .*The client has left/)
    const plain = { model: 'slow', messages }
    await fetch(`${url}/compat/chat/completions`, {
      ...asked,
      body: JSON.stringify(plain),
      signal: AbortSignal.timeout(300),
    }).catch(() => {})
    await server.printed(/(POST .*The client has left[\s\S]*){2}/)
    const streamed = await fetch(`${url}/v1/responses`, {
      ...asked,
      body: JSON.stringify({ model: 'slow', stream: true, tools: [], input: 'hello' }),
      signal: AbortSignal.timeout(300),
    }).catch(() => undefined)
    await streamed?.text().catch(() => {})
    await server.printed(/(POST .*The client has left[\s\S]*){3}/)
    expect(await ask(url)).to.equal('hello')
    await server.printed(/"level":30.*completions 200/)
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    const shown = lines.map((line) => JSON.parse(line) as { level: number; msg: string })
    expect(
      shown.map(({ level, msg }) => `${level} ${msg.split('\n')[0]?.replace(/[\d.]+ m?s/, 'N ms')}`),
    ).to.deep.equal([
      "40 POST /compat/chat/completions 400 N ms: There is no agent 'ecko'. Did you mean 'echo'?",
      "50 POST /compat/chat/completions 500 N ms: Agent 'faulty' failed: broken",
      "50 POST /compat/chat/completions 200 N ms: Agent 'faulty' failed: broken",
      "50 POST /v1/responses 200 N ms: Agent 'faulty' failed: broken",
      "50 POST /mcp 200 N ms: Agent 'faulty' failed: broken",
      "40 POST /mcp 200 N ms: Invalid params: There is no agent 'nobody'.",
      '30 POST /mcp 200 N ms',
      '40 POST /nowhere 404 N ms: Not Found',
      '40 POST /v1/responses 415 N ms: The body must be uncompressed JSON in UTF-8, with the header Content-Type: application/json',
      '30 WS /v1/responses 200 N ms',
      "40 WS /v1/responses 404 N ms: There is no agent 'nobody'.",
      "50 WS /v1/responses 200 N ms: Agent 'faulty' failed: broken",
      '40 WS /v1/responses N ms: The client has left before the answer was complete.',
      '40 POST /compat/chat/completions N ms: The client has left before the answer was complete.',
      '40 POST /compat/chat/completions N ms: The client has left before the answer was complete.',
      '40 POST /v1/responses N ms: The client has left before the answer was complete.',
      '30 POST /compat/chat/completions 200 N ms',
    ])
  })

  it('serves an edited agent, and reports a change of .env', async () => {
    const project = await makeProject({ 'agents/echo.yml': agent('echo', 'one '), '.env': 'A=1\n' })
    const server = startCli(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await server.printed(/ready at (http:\S+)\n/))[1] as string
    expect(await ask(url)).to.equal('one hello')
    await project.write('agents/echo.yml', agent('echo', 'two '))
    await eventually(async () => expect(await ask(url)).to.equal('two hello'))
    await project.write('.env', 'A=2\n')
    await server.printed(/"level":40.*\.env changed\. Restart to apply it\./)
    // Without a terminal there is nothing that could be asked.
    expect((await post(url, { action: 'run_evals' })).status).to.equal(404)
  })

  it('lists the first twenty of many agents, and those that failed to load', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `agent-${String(index).padStart(2, '0')}`)
    const files = names.map((name) => [`agents/${name}.yml`, agent(name, '')])
    const { dir } = await makeProject({ ...Object.fromEntries(files), 'agents/bad.yml': 'id: [' })
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    await server.printed(/Ctrl-C stops/)
    expect(
      server
        .output()
        .split('\n')
        .filter((line) => /^ {2}(agent-|and|Problems)/.test(line)),
    ).to.deep.equal([
      ...names.slice(0, 20).map((name) => `  ${name}  Says it again  [agents/${name}.yml]`),
      '  and 2 more',
      '  Problems: 1 (see the warnings above). Fix the file and save it.',
    ])
  })

  it('listens on 9001 by default', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', '') })
    const server = startCli(['dev'], { cwd: dir })
    // Taken or not: either message names the port.
    await server.printed(/127\.0\.0\.1:9001|Port 9001 is in use/)
  })
})

/** Answers with what a variable of `.env` says. */
const GREETING = { 'agents/echo.yml': agent('echo', '$' + '{GREETING} '), '.env': 'GREETING=good morning\n' }

const CHANGE = {
  action: 'change_agent',
  agent_id: 'echo',
  changes: [{ module: 'echo', path: ['prefix'], value: 'good ${night} ' }],
}

describe('dev on a terminal', () => {
  before(function () {
    needsTerminal(this)
  })
  afterEach(closeTerminals)

  it('r restarts with the new .env, on the same port', async () => {
    const project = await makeProject(GREETING)
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/q quit/)
    expect(await ask(url)).to.equal('good morning hello')
    await project.write('.env', 'GREETING=good evening\n')
    await terminal.shows(/\.env changed\. Press r to restart\./)
    terminal.type('r')
    expect((await terminal.shows(/ready at (http:\S+)\n/))[1]).to.equal(url)
    await eventually(async () => expect(await ask(url)).to.equal('good evening hello'))
    terminal.type('q')
    expect(await terminal.ended).to.equal(0)
  })

  it('r keeps the server running if the options in .env are invalid', async () => {
    const project = await makeProject(GREETING)
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/q quit/)
    await project.write('.env', 'GREETING=x\nAGENT_HOST_LOG_LEVEL=loud\n')
    terminal.type('r')
    await terminal.shows(/Cannot restart: --log-level .* not 'loud'/)
    expect(await ask(url)).to.equal('good morning hello')
  })

  it('asks what the page wants to write: a paste writes nothing, and stops nothing; a `y` writes what it shows', async () => {
    const project = await makeProject(GREETING)
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    const change = () => post(url, CHANGE)
    await terminal.shows(/q quit/)
    expect((await change()).status).to.equal(202)
    await terminal.shows(
      /The debug page asks: Write echo\.prefix into agents\/echo\.yml\n {2}agents\/echo\.yml {2}changed/,
    )
    await terminal.shows(/ - .*\$\{GREETING\}.*\n.* \+ .*'good \$\$\{night\} '.*\ny writes it/)
    await setTimeout(1100)
    terminal.type('say y, or q')
    await terminal.shows(/Refused in the terminal\. Nothing was written\./)
    terminal.type('hqr')
    expect(await ask(url)).to.equal('good morning hello')
    expect(await project.read('agents/echo.yml')).to.equal(GREETING['agents/echo.yml'])
    expect((await change()).status).to.equal(202)
    await terminal.shows(/The debug page asks/)
    await setTimeout(1100)
    terminal.type('y')
    await terminal.shows(/Wrote agents\/echo\.yml\./)
    await eventually(async () => expect(await ask(url)).to.equal('good ${night} hello'))
    terminal.type('q')
    expect(await terminal.ended).to.equal(0)
  })

  const NOISY = {
    ...GREETING,
    'agents/noisy.yml': 'id: noisy\nmodules: [{ id: main, module: noisy }]',
    'modules/noisy.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Noisy', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }, _, { log }) => ({ async handleText(text) {
    for (let line = 1; line <= Number(text); line++) line % 2 ? console.log('line ' + line + '.') : log.warn('line ' + line + '.')
    await response.respondText(String(process.pid))
  } }) })`,
  }
  const linesOf = (screen: string) => [...screen.matchAll(/line (\d+)\./g)].map(([, number]) => Number(number))
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

  it('prints nothing below a question while it stands, and all of it afterwards', async () => {
    const project = await makeProject(NOISY)
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/q quit/)
    await post(url, CHANGE)
    await terminal.shows(/y writes it .*\n$/)
    await ask(url, '100', 'noisy')
    await terminal.shows(/y writes it .*\n$/)
    terminal.type('n')
    await terminal.shows(/Nothing was written\.\nMeanwhile \(\d+ lines\):\n/)
    await eventually(() => expect(linesOf(terminal.screen())).to.deep.equal(upTo(100)))
    terminal.type('q')
    expect(await terminal.ended).to.equal(0)
  })

  it('shows a question again below more lines than it holds back, and loses none', async () => {
    const project = await makeProject(NOISY)
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/q quit/)
    await post(url, CHANGE)
    await terminal.shows(/y writes it .*\n$/)
    const pid = Number(await ask(url, '1200', 'noisy'))
    await terminal.shows(/line 1001\.\n+The debug page asks: .*\n(.*\n)+y writes it .*\n$/)
    process.kill(pid, 'SIGTERM')
    await terminal.ended
    expect(linesOf(terminal.screen())).to.deep.equal(upTo(1200))
  })

  it('runs the evals that the page wants', async () => {
    const cases = '{"id":"a","input":"Hi","expected":"good morning Hi"}\n'
    const project = await makeProject({ ...GREETING, 'evals/first.jsonl': cases })
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: project.dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/q quit/)
    const evals = () => post(url, { action: 'run_evals' })
    await evals()
    await terminal.shows(/The debug page asks/)
    await setTimeout(1100)
    terminal.type('y')
    await terminal.shows(/Started agent-host eval evals\/first\.jsonl in the terminal\./)
    await terminal.shows(/Result: evals\/results\/\S+\.json/)
    terminal.type('q')
    expect(await terminal.ended).to.equal(0)
  })

  it('h shows the keys, m how MCP clients connect, never the key; Ctrl-C stops', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': agent('echo', ''), '.env': 'MCP_API_KEY=k-secret-2\n' })
    const terminal = openTerminal(['dev', '--port', '0'], { cwd: dir })
    const url = (await terminal.shows(/ready at (http:\S+)\n/))[1] as string
    await terminal.shows(/h help {2}o open {2}r restart {2}c clear {2}q quit/)
    terminal.type('h')
    await terminal.shows(/r {2}restart: reads \.env again/)
    terminal.type('m')
    await terminal.shows(/"args":\["mcp","--stdio"\]/)
    expect(terminal.screen())
      .to.contain(`claude mcp add --transport http agent-host ${url}/mcp --header "Authorization: Bearer $MCP_API_KEY"`)
      .and.to.contain('{"servers":{"agent-host":{"type":"http"')
      .and.not.to.contain('k-secret-2')
    terminal.type(KEYS.ctrlC)
    expect(await terminal.ended).to.equal(0)
  })
})

function isBanner(line: string): boolean {
  return line !== '' && !line.startsWith('{')
}
