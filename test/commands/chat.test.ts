import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { execa } from 'execa'
import { MarkdownStream } from '../../src/commands/chat/markdown-stream.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { killRunning, RUN, runCli, startCli } from '../support/run-cli.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'
import { closeTerminals, KEYS, needsTerminal, openTerminal } from '../support/terminal.ts'

const ECHO =
  "id: echo\ndescription: Says it again\nmodules:\n  - { id: echo, module: echo, config: { prefix: 'You said: ' } }\n"
const HELPER = `id: helper
modules:
  - { id: llm, module: llm/offline, config: { introduce: false } }
  - { id: tools, module: tools/local, config: { files: [tools/sum.ts] } }
  - { id: loop, module: orchestrator/tool-loop }
`
const SUM = `import { defineTool, Type } from 'agent-host'
export const sum = defineTool({ description: 'Adds two numbers.', parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute({ a, b }) { if (a < 0) throw new Error('too small'); return a + b } })
`
const HISTORY = `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Count', description: 'Counts', provides: [TextMessageHandler],
  uses: { history: ConversationHistory, response: Response },
  create: ({ history, response }) => ({ async handleText() { await response.respondText('messages: ' + (await history.getHistory()).length) } }) })
`
const SHOP = {
  ...SHOP_MODULES,
  'agents/shop.yml': shopAgent(
    'shop',
    '{ name: pay, arguments: { amount: 40 } }, { name: size, arguments: { amount: 0 } }',
  ),
}
const FILES = { 'agents/helper.yml': HELPER, 'tools/sum.ts': SUM }

/** Starts a server with the chat and responses adapters; gives its address. */
async function serve(dir: string): Promise<string> {
  return (await serveLogged(dir)).url
}

async function serveLogged(dir: string): Promise<{ url: string; output(): string }> {
  const args = ['serve', '--port', '0', '--adapter', 'ChatCompatApiAdapter,ResponsesCompatApiAdapter']
  const { printed, output } = startCli(args, { cwd: dir })
  return { url: (await printed(/listening at (http:\S+)"/))[1] as string, output }
}

describe('chat', () => {
  afterEach(killRunning)

  it('--once prints only the answer', async () => {
    const { dir } = await makeProject(FILES)
    expect(await runCli(['chat', 'helper', '--once', 'What is the sum of 2 and 3?'], { cwd: dir })).deep.equal({
      exitCode: 0,
      stdout: 'sum says: 5\n',
      stderr: '',
    })
    expect((await callCli(['runs'], { cwd: dir })).stdout).contain('What is the sum of 2 and 3?')
  })

  it('warns, and answers, where the traces cannot be written', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, debug: 'a file' })
    const { exitCode, stdout, stderr } = await callCli(['chat', '--once', 'hi'], { cwd: dir })
    expect([exitCode, stdout]).to.deep.equal([0, 'You said: hi\n'])
    expect(stderr).to.match(/^Warning: Traces cannot be kept in \S+debug: EEXIST: [^\n]+\n$/)
  })

  it('--json prints answer and tool calls; the question may come from standard input', async () => {
    const { dir } = await makeProject(FILES)
    const { stdout } = await execa(process.execPath, [RUN, 'chat', '--json'], { cwd: dir, input: 'sum of 2 and 3\n' })
    const { run_id, ...rest } = JSON.parse(stdout)
    expect(run_id).match(/^[0-9a-f-]{36}$/)
    expect(rest).deep.equal({
      agent: 'helper',
      text: 'sum says: 5',
      tool_calls: [{ name: 'sum', arguments: { a: 2, b: 3 }, result: '5' }],
    })
  })

  it('--once says where to decide a call that needs an approval', async () => {
    const { dir } = await makeProject({
      ...FILES,
      'tools/sum.ts': SUM.replace('execute(', 'needsApproval: true, execute('),
    })
    const { exitCode, stderr } = await runCli(['chat', '--once', 'What is the sum of 2 and 3?'], { cwd: dir })
    expect(exitCode).equal(0)
    expect(stderr).equal(
      'helper wants to call sum({"a":2,"b":3})\n  To decide, ask without --once: agent-host chat helper\n',
    )
    const { stdout } = await callCli(['runs'], { cwd: dir })
    expect(stdout).match(/ cancelled .* The command that asked has ended: the call can no longer be decided\.\n$/)
  })

  it('names the kind of a picture, in this process and with --url; --json has its bytes', async () => {
    const { dir } = await makeProject({
      'agents/painter.yml': 'id: painter\nmodules: [{ id: m, module: painter }]',
      'modules/painter.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
        export default defineModule({ name: 'Painter', provides: [TextMessageHandler], uses: { response: Response },
          create: ({ response }) => ({ async handleText() { await response.respondText('Here.')
            await response.respondImage({ mediaType: 'image/svg+xml', data: Buffer.from('<svg/>') }) } }) })`,
    })
    const url = await serve(dir)
    const here = await callCli(['chat', 'painter', '--once', 'Paint'], { cwd: dir })
    const there = await callCli(['chat', 'painter', '--url', url, '--once', 'Paint'], { cwd: dir })
    expect([here.stdout, there.stdout]).deep.equal([
      'Here.\n[attachment: image/svg+xml]\n\n',
      'Here.\n[attachment: image]\n\n',
    ])
    const attachmentsOf = async (...more: string[]) => {
      const { stdout } = await callCli(['chat', 'painter', '--json', '--once', 'Paint', ...more], { cwd: dir })
      const { text, attachments } = JSON.parse(stdout)
      return [text, attachments]
    }
    const base64 = Buffer.from('<svg/>').toString('base64')
    expect(await attachmentsOf()).deep.equal(['Here.', [{ mediaType: 'image/svg+xml', base64 }]])
    expect(await attachmentsOf('--url', url)).deep.equal(['Here.', [{ mediaType: 'image/*', base64 }]])
  })

  it('--once says on which server to answer a question, and the log has one line for it', async () => {
    const ask = `(_, run) { return run!.ask({ message: 'Which?', schema: { type: 'string' } }) } })\n`
    const { dir } = await makeProject({ ...FILES, 'tools/sum.ts': SUM.replace(/execute\([\s\S]*$/, `execute${ask}`) })
    const { url, output } = await serveLogged(dir)
    const { stderr } = await callCli(['chat', 'helper', '--url', url, '--once', 'Sum of 2 and 3?'], { cwd: dir })
    expect(stderr).equal(`helper asks: Which?\n  Decide with: agent-host approvals --url ${url}\n`)
    // A request is logged once its client has the answer.
    await eventually(() => {
      const lines = output()
        .split('\n')
        .filter((line) => / \/compat\//.test(line))
      expect(lines.map((line) => / (\/compat\/\w+) (\d+) /.exec(line)?.slice(1))).deep.equal([
        ['/compat/models', '200'],
        ['/compat/responses', '200'],
      ])
    })
  })

  it('talks to a running server', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const args = ['serve', '--port', '0', '--adapter', 'ChatCompatApiAdapter', '--compat-api-key', 'k-1']
    const server = startCli(args, { cwd: dir })
    const url = (await server.printed(/listening at (http:\S+)"/))[1] as string
    const { dir: elsewhere } = await makeProject()
    const chat = ['chat', '--url', url, '--once', 'hello']
    expect((await callCli([...chat, '--api-key', 'k-1'], { cwd: elsewhere })).stdout).equal('You said: hello\n')
    const { exitCode, stderr } = await callCli(chat, { cwd: elsewhere })
    expect([exitCode, stderr]).deep.equal([1, `Error: ${url} answered 401: Missing Authorization header\n`])
  })

  it('shows the tool calls of a server with the responses adapter, and keeps the conversation there', async () => {
    const { dir } = await makeProject(FILES)
    const chat = ['chat', 'helper', '--url', await serve(dir), '--json', '--once', 'What is the sum of 2 and 3?']
    const { tool_calls: calls } = JSON.parse((await callCli(chat, { cwd: dir })).stdout)
    expect(calls).deep.equal([{ name: 'sum', arguments: { a: 2, b: 3 }, result: '5' }])
  })

  it('talks to a named agent of a server that lists none: it has no chat adapter, or another key there', async () => {
    const { dir } = await makeProject(FILES)
    const both = ['--adapter', 'ChatCompatApiAdapter', '--compat-api-key', 'k-1']
    for (const more of [[], both]) {
      const args = ['--adapter', 'ResponsesCompatApiAdapter', '--responses-api-key', 'k-2', ...more]
      const server = startCli(['serve', '--port', '0', ...args], { cwd: dir })
      const url = (await server.printed(/listening at (http:\S+)"/))[1] as string
      const chat = (...agent: string[]) =>
        callCli(['chat', ...agent, '--url', url, '--api-key', 'k-2', '--json', '--once', 'Sum of 2 and 3?'], {
          cwd: dir,
        })
      expect(JSON.parse((await chat('helper')).stdout).tool_calls).to.have.length(1)
      expect((await chat()).stderr).equal(
        'Error: Name the agent: this server lists none to this key.\n  agent-host chat <agent> --url <url>\n',
      )
    }
  })

  it('explains an unreachable server, an unknown agent, and a missing name', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, ...FILES })
    const fail = async (...args: string[]) => (await callCli(['chat', '--once', 'x', ...args], { cwd: dir })).stderr
    expect(await fail('--url', 'http://127.0.0.1:1')).match(
      /^Error: Cannot reach http:\/\/127\.0\.0\.1:1: .*\n {2}Start the server: agent-host dev\n/,
    )
    for (const answer of ['<!doctype html>', '{"ok":true}']) {
      const other = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1')
      await once(other, 'listening')
      const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
      expect(await fail('--url', url)).equal(
        `Error: What answers at ${url} is no agent-host server: it lists no agents.\n`,
      )
      other.close()
    }
    expect(await fail('ecko')).equal(
      "Error: There is no agent 'ecko'.\n  Did you mean 'echo'?\n  Agents: echo, helper\n",
    )
    expect(await fail()).equal('Error: Name the agent: there are several.\n  Agents: echo, helper\n')
  })

  it('exits with 1 if the agent fails', async () => {
    const broken =
      'id: broken\nmodules:\n  - { id: llm, module: llm/mock, config: { replies: [{ error: no luck }] } }\n  - { id: loop, module: orchestrator/tool-loop }\n'
    const { dir } = await makeProject({ 'agents/broken.yml': broken })
    const { exitCode, stderr } = await callCli(['chat', '--once', 'x'], { cwd: dir })
    expect([exitCode, stderr]).deep.equal([1, "Error: Agent 'broken' failed: no luck\n"])
  })
})

describe('chat on a terminal', () => {
  before(function () {
    needsTerminal(this)
  })
  afterEach(() => {
    closeTerminals()
    killRunning()
  })

  it('streams answers, shows tool calls, keeps the conversation until /new, and leaves with /exit', async () => {
    const count = 'id: count\ndescription: Counts\nmodules:\n  - { id: count, module: count }\n'
    const { dir } = await makeProject({ ...FILES, 'agents/count.yml': count, 'modules/count.ts': HISTORY })
    const terminal = openTerminal(['chat', 'helper'], { cwd: dir })
    await terminal.shows(/Talking to helper\. \/help shows the commands\.\n\nhelper> /)
    terminal.type(`What is the sum of 2 and 3?${KEYS.enter}`)
    await terminal.shows(/→ sum\(\{"a":2,"b":3\}\)\n← 5\nsum says: 5\n\nhelper> /)
    terminal.type(`What is the sum of -2 and 3?${KEYS.enter}`)
    await terminal.shows(/✗ sum failed: (Error: )?too small\n/)
    terminal.type(`/agents${KEYS.enter}`)
    await terminal.shows(/ {2}count {2}Counts\n\* helper {2}\n/)
    terminal.type(`/agents cuont${KEYS.enter}`)
    await terminal.shows(/There is no agent 'cuont'\. Did you mean 'count'\?/)
    terminal.type(`/agents count${KEYS.enter}`)
    await terminal.shows(/count> /)
    terminal.type(`a${KEYS.enter}`)
    await terminal.shows(/messages: 1\n/)
    terminal.type(`b${KEYS.enter}`)
    await terminal.shows(/messages: 3\n/)
    terminal.type(`/history${KEYS.enter}`)
    await terminal.shows(/you: a\ncount: messages: 1\nyou: b\n/)
    terminal.type(`/new${KEYS.enter}`)
    await terminal.shows(/New conversation/)
    terminal.type(`c${KEYS.enter}`)
    await terminal.shows(/messages: 1\n/)
    terminal.type(`/exit${KEYS.enter}`)
    expect(await terminal.ended).equal(0)
  })

  for (const place of ['in this process', 'on a server']) {
    it(`asks for decisions and answers inline, ${place}`, async () => {
      const { dir, read } = await makeProject(SHOP)
      const url = place === 'on a server' ? ['--url', await serve(dir)] : []
      const terminal = openTerminal(['chat', 'shop', ...url], { cwd: dir })
      await terminal.shows(/shop> /)
      terminal.type(`please${KEYS.enter}`)
      await terminal.shows(/May it call pay\(\{"amount":40\}\)\? \[a\]pprove, \[r\]eject, \[e\]dit: /)
      terminal.type(`e${KEYS.enter}`)
      await terminal.shows(/Arguments as JSON, such as \{"amount":40\}: /)
      terminal.type(`{"amount": "lots"}${KEYS.enter}`)
      await terminal.shows(/Which size\? /)
      terminal.type(`7${KEYS.enter}`)
      await terminal.shows(/Error: .*amount must be a number[\s\S]*\[e\]dit: /)
      terminal.type(`e${KEYS.enter}`)
      await terminal.shows(/such as/)
      terminal.type(`{"amount": 4}${KEYS.enter}`)
      await terminal.shows(/Which size\? /)
      terminal.type(`7${KEYS.enter}`)
      // The call that waited begins again, and is not named again.
      await terminal.shows(/← [^→]*Results: [^→]*pay 4, size 7\n\nshop> /)
      expect(await read('paid.txt')).equal('pay 4\nsize 7\n')
      terminal.type(`/exit${KEYS.enter}`)
      expect(await terminal.ended).equal(0)
      if (url.length > 0) return
      const { stdout } = await callCli(['runs'], { cwd: dir })
      expect(stdout)
        .match(/ completed [\s\S]* continued /)
        .not.contain(' cancelled ')
    })
  }

  it('shows a call as it is before it is decided, and nothing moves the cursor', async () => {
    const call = String.raw`{ name: pay, arguments: { amount: 1, to: "\u202Egnp\x9b2J\x1b[2J" } }`
    const { dir } = await makeProject({ ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', call) })
    const terminal = openTerminal(['chat', 'shop'], { cwd: dir })
    await terminal.shows(/shop> /)
    terminal.type(`please${KEYS.enter}`)
    await terminal.shows(/May it call pay\(\{"amount":1,"to":"\\u202egnp\\u009b2J\\u001b\[2J"\}\)\?/)
    terminal.type(`a${KEYS.enter}`)
    await terminal.shows(/Results: pay 1 \\u202egnp\\u009b2J\\u001b\[2J/)
    terminal.type(`/history${KEYS.enter}`)
    await terminal.shows(/shop: Results: pay 1 \\u202egnp\\u009b2J\\u001b\[2J/)
    terminal.type(`/exit${KEYS.enter}`)
    expect(await terminal.ended).equal(0)
  })

  it('Ctrl-C stops an answer, and leaves at the prompt', async () => {
    const slow =
      'id: slow\nmodules:\n  - { id: llm, module: llm/mock, config: { replies: [{ text: one two three four, delay_ms: 3000 }] } }\n  - { id: loop, module: orchestrator/tool-loop }\n'
    const { dir } = await makeProject({ 'agents/slow.yml': slow })
    const terminal = openTerminal(['chat'], { cwd: dir })
    await terminal.shows(/slow> /)
    terminal.type(`go${KEYS.enter}`)
    await terminal.shows(/one/)
    terminal.type(KEYS.ctrlC)
    await terminal.shows(/Stopped\.\n\nslow> /)
    terminal.type(KEYS.ctrlC)
    expect(await terminal.ended).equal(0)
  })

  it('prompts for one of several agents; Ctrl-C exits with 130', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO, ...FILES })
    const terminal = openTerminal(['chat'], { cwd: dir })
    await terminal.shows(/Agent:/)
    terminal.type(KEYS.ctrlC)
    expect(await terminal.ended).equal(130)
    const other = openTerminal(['chat'], { cwd: dir })
    await other.shows(/Agent:/)
    other.type(KEYS.down + KEYS.enter)
    await other.shows(/Talking to helper\./)
    other.type(KEYS.ctrlD)
    expect(await other.ended).equal(0)
  })
})

describe('MarkdownStream', () => {
  const render = (text: string, size: number) => {
    const stream = new MarkdownStream()
    let shown = ''
    for (let start = 0; start < text.length; start += size) shown += stream.push(text.slice(start, start + size))
    const marks = {
      '\u001b[0m': '<0>',
      '\u001b[1m': '<b>',
      '\u001b[2m': '<dim>',
      '\u001b[3m': '<i>',
      '\u001b[36m': '<c>',
    }
    return Object.entries(marks).reduce((out, [code, mark]) => out.replaceAll(code, mark), shown + stream.end())
  }
  const CASES: readonly (readonly [markdown: string, shown: string])[] = [
    ['plain * text\n', 'plain * text\n'],
    ['# Title\ntext', '<0><b>Title<0>\ntext'],
    ['a **bold** b `code` c', 'a <0><b>bold<0> b <0><c>code<0> c'],
    ['- one\n  - two\n', '• one\n  • two\n'],
    ['```js\n# no **title**\n```\nx', '<dim>```js<0><c>\n# no **title**\n<dim>```<0>\nx'],
    ['\u001b[31mred\u0007', '\\u001b[31mred\\u0007'],
    ['open **bold', 'open **bold'],
    ['def f(*args, **kwargs): pass\nnext', 'def f(*args, **kwargs): pass\nnext'],
    ['Pass **kwargs on.\n\nThen **stop**.', 'Pass **kwargs on.\n\nThen <0><b>stop<0>.'],
    ['an *important* word, **very *so* much**', 'an <0><i>important<0> word, <0><b>very <0><b><i>so<0><b> much<0>'],
    ['2*3*4 and 2 * 3 * 4', '2*3*4 and 2 * 3 * 4'],
    ['**`a * b`** and `**c**`\n', '<0><b><0><b><c>a * b<0><b><0> and <0><c>**c**<0>\n'],
    ['## A `b` c\n*d*', '<0><b>A <0><b><c>b<0><b> c<0>\n<0><i>d<0>'],
    ['| a | b |\n| - | - |\n', '| a | b |\n| - | - |\n'],
  ]
  for (const [markdown, shown] of CASES) {
    it(`shows ${JSON.stringify(markdown)}, in pieces of any size`, () => {
      for (const size of [1, 2, 3, 100]) expect(render(markdown, size), `size ${size}`).equal(shown)
    })
  }
})
