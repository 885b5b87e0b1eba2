import { hash } from 'node:crypto'
import { readFile, symlink } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { TerminalQuestions } from '../../../src/commands/dev/terminal-questions.ts'
import { type BuiltServer, buildServer } from '../../../src/server/server.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { callCli } from '../../support/call-cli.ts'
import { SHOP } from '../../support/counting-shop.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/graphql.ts'
import { untilTaped } from '../../support/tapes.ts'
import { makeProject } from '../../support/temp-project.ts'

const FILES = {
  ...SHOP,
  'agents/bare.yml': `id: bare # the shop's
modules:
  # A model that costs nothing.
  - { id: llm, module: clerk }
  - id: main
    module: orchestrator/tool-loop
    config:
      system_prompt: Hello \${USER_NAME:-you}, be kind. # as the boss says
      max_steps: 3
`,
  'agents/boss.yml': `id: boss
modules:
  - { id: llm, module: clerk }
  - { id: agents, module: tools/agents, config: { agents: [bare] } }
  - { id: main, module: orchestrator/tool-loop, config: { system_prompt: { file: prompts/boss.md } } }
`,
  'prompts/boss.md': 'Be a boss.\n',
}
const OWN = { origin: 'http://localhost:80', host: 'localhost:80' }
const EVALS = { action: 'run_evals' }
const CASE = '{"id":"first","input":"Hi","expected":"Hi"}\n'
const QUIET_MS = 1100

describe('questions of the page to the terminal', () => {
  const open: BuiltServer[] = []
  afterEach(async () => {
    for (const server of open.splice(0)) await server.close()
  })

  async function serve(options: Partial<ServerOptions> = {}, hasTerminal = true) {
    const project = await makeProject({ ...FILES, 'evals/a.jsonl': CASE })
    const shown: string[] = []
    const questions = new TerminalQuestions({
      projectDir: project.dir,
      output: {
        print: (lines) => void shown.push(...lines),
        hold: () => {},
        release: () => {},
      },
      run: async () => 0,
    })
    const dev = { debug: true, development: true, record: 1, logLevel: 'silent', drainTimeout: 0 } as const
    const adapters = ['ResponsesCompatApiAdapter']
    const settings = { projectDir: project.dir, adapters, ...dev, ...options }
    const server = await buildServer(settings, hasTerminal ? questions : undefined)
    open.push(server)
    const post = async (payload: object, headers: Record<string, string> = OWN) => {
      const { statusCode, body } = await server.app.inject({
        method: 'POST',
        url: '/api/ui/questions',
        payload,
        headers,
      })
      return { status: statusCode, ...(JSON.parse(body) as { id: string; detail: string }) }
    }
    /** Says yes to the question that is shown, and waits until it has ended. */
    const sayYes = async (id: string) => {
      await wait(QUIET_MS)
      questions.answer('y')
      await eventually(() => expect(questions.latest().find((each) => each.id === id)?.state).equal('written'))
    }
    const record = async () => {
      const handle = server.host.start('shop', { messages: [{ role: 'user', content: 'Where is A1?' }] })
      await handle.result
      await untilTaped(project.dir, handle.id)
      await eventually(async () =>
        expect(await ask(server, `{ run(run_id: "${handle.id}") { run_id } }`)).property('run'),
      )
      return handle.id
    }
    return { project, server, questions, shown, post, sayYes, record }
  }

  const CHANGE = { module: 'main', path: ['system_prompt'] }
  const change = (value: string, agent_id = 'bare', more: object = {}) => ({
    action: 'change_agent',
    agent_id,
    changes: [{ ...CHANGE, ...more, value }],
  })

  it('exist only under dev with a terminal, for the own page of this machine', async () => {
    const { post, server } = await serve()
    expect((await post(EVALS)).status).equal(202)
    const from = (origin: string, more: object = {}) => post(EVALS, { ...OWN, origin, ...more })
    for (const origin of ['https://evil.example', 'null', 'http://localhost:81', 'https://localhost:80']) {
      expect([origin, (await from(origin)).status]).deep.equal([origin, 404])
    }
    expect((await post(EVALS, { host: OWN.host })).status).equal(404)
    expect((await post(EVALS, { host: OWN.host, 'sec-fetch-site': 'same-origin' })).status).equal(404)
    expect((await from('http://rebound.example', { host: 'rebound.example' })).status).equal(403)
    const asks = '{ server { asks_at_terminal } }'
    expect(await ask(server, asks, {}, OWN)).deep.equal({ server: { asks_at_terminal: true } })
    expect(await ask(server, asks, {}, {})).deep.equal({ server: { asks_at_terminal: false } })
  })

  it('do not exist in serve, without a terminal, or beyond this machine; a trusted origin is not enough', async () => {
    const plain = await serve({}, false)
    const wide = await serve({ host: '0.0.0.0' })
    const trusting = await serve({ trustedOrigins: ['https://app.example'], allowedHosts: ['app.example'] })
    for (const { post, server } of [plain, wide]) {
      expect((await post(EVALS)).status).equal(404)
      expect(await ask(server, '{ server { asks_at_terminal } }', {}, OWN)).deep.equal({
        server: { asks_at_terminal: false },
      })
    }
    expect((await trusting.post(EVALS, { ...OWN, origin: 'https://app.example' })).status).equal(404)
    const there = { origin: 'http://app.example', host: 'app.example' }
    expect((await trusting.post(EVALS, there)).status).equal(404)
  })

  it('need `approve` beside `debug` where keys name scopes, and a key of no tenant', async () => {
    const key = (name: string, rest: string) =>
      `  - { name: ${name}, digest: "sha256:${hash('sha256', `key-of-${name}`)}", ${rest} }\n`
    const keys = `keys:\n${key('dora', 'scopes: [debug]')}${key('ada', 'scopes: [debug, approve]')}${key('tom', 'tenant: acme, scopes: [debug, approve]')}${key('ben', 'scopes: [debug, approve], agents: [bare]')}${key('run', 'scopes: [run, approve]')}`
    const project = await makeProject({ 'keys.yml': keys })
    const { post } = await serve({ keys: project.path('keys.yml'), uiToken: 'the-token' })
    const as = (name: string) => post(EVALS, { ...OWN, authorization: `Bearer key-of-${name}` })
    expect((await as('ada')).status).equal(202)
    expect(await as('dora')).include({ status: 403, detail: "This needs a key with the scope 'approve'" })
    for (const name of ['tom', 'ben']) {
      expect(await as(name)).include({ status: 403, detail: 'This needs a key without a tenant, for all agents' })
    }
    expect((await as('run')).status).equal(403)
    expect((await post(EVALS)).status).equal(401)
    expect((await post(EVALS, { ...OWN, authorization: 'Bearer the-token' })).status).equal(403)
    const open = await serve({ uiToken: 'the-token' })
    expect((await open.post(EVALS, { ...OWN, authorization: 'Bearer the-token' })).status).equal(202)
  })

  it('refuse the sixth', async () => {
    const { post } = await serve()
    for (let count = 1; count <= 5; count++) expect((await post(EVALS)).status).equal(202)
    const detail = '5 questions wait in the terminal of agent-host dev: answer them there first'
    expect(await post(EVALS)).include({ status: 503, detail })
  })

  it('save a run as the test that `runs save` writes', async () => {
    const { project, post, sayYes, record, shown } = await serve()
    const run_id = await record()
    const { id } = await post({ action: 'save_test', run_id, name: 'where' })
    expect(shown).contain(
      `  tests/tapes/where.jsonl.gz  new, ${await sizeOf(project.dir, run_id)} bytes: the tape of run ${run_id}, compressed`,
    )
    expect(shown).contain("  + import assert from 'node:assert/strict'")
    expect(project.exists('tests')).equal(false)
    await sayYes(id)
    const names = ['tests/where.test.ts', 'tests/tapes/where.jsonl.gz']
    const asked = await Promise.all(names.map((name) => readFile(project.path(name))))
    expect(await post({ action: 'save_test', run_id, name: 'where' })).include({
      status: 400,
      detail: 'tests/tapes/where.jsonl.gz already exists: choose another name, or remove it.',
    })
    await project.remove('tests')
    await callCli(['runs', 'save', run_id, '--name', 'where'], { cwd: project.dir })
    const saved = await Promise.all(names.map((name) => readFile(project.path(name))))
    expect(asked).deep.equal(saved)
  })

  it('save a run as the case that `runs save --case` writes', async () => {
    const { project, post, sayYes, record, shown } = await serve()
    const run_id = await record()
    await project.write('evals/a.jsonl', CASE.trimEnd())
    const wanted = { action: 'save_case', run_id, file: 'evals/a.jsonl', name: 'where' }
    const { id } = await post(wanted)
    expect(shown.filter((line) => line.startsWith('  - '))).deep.equal([
      `  - ${CASE.trimEnd()} (no newline at the end)`,
    ])
    await sayYes(id)
    const asked = await project.read('evals/a.jsonl')
    expect(asked.split('\n')).length(3)
    expect((await post({ ...wanted, file: 'evals/b.jsonl' })).detail).equal(
      'evals/tapes/where.jsonl.gz already exists: choose another name, or remove it.',
    )
    expect((await post(wanted)).detail).contain('already exists')
    await project.remove('evals/tapes')
    expect((await post(wanted)).detail).equal("evals/a.jsonl:2 already has a case 'where'.")
    await project.write('evals/a.jsonl', CASE.trimEnd())
    await callCli(['runs', 'save', run_id, '--name', 'where', '--case', 'evals/a.jsonl'], { cwd: project.dir })
    expect(asked).equal(await project.read('evals/a.jsonl'))
  })

  it('name no file elsewhere, and no name that leads there', async () => {
    const { project, post, record } = await serve()
    const run_id = await record()
    const files = ['../a.jsonl', 'a.jsonl', '/tmp/a.jsonl', 'evals/../a.jsonl', 'evals\\a.jsonl', 'prompts/a.jsonl']
    for (const file of files) {
      const { status, detail } = await post({ action: 'save_case', run_id, file })
      expect([status, detail]).deep.equal([
        400,
        `'${file}' does not lie in agents/, tests/, evals/: nothing else is written.`,
      ])
    }
    const wrong = await post({ action: 'save_test', run_id, name: '../../x' })
    expect(wrong.status).equal(400)
    await symlink(project.path('prompts/boss.md'), project.path('evals/link.jsonl'))
    const linked = await post({ action: 'save_case', run_id, file: 'evals/link.jsonl' })
    expect(linked).include({
      status: 400,
      detail: 'evals/link.jsonl is a link, and none is followed. Name the file itself.',
    })
    expect((await post({ action: 'save_test', run_id: 'none' })).detail).contain('There is no tape of this run')
  })

  it('write a prompt where it stands: comments stay, and a `${` of it reads no variable', async () => {
    const { project, post, sayYes } = await serve()
    const { id } = await post(change('Hi ${USER_NAME:-you}. ${HOME} $${x} ${', 'bare'))
    await sayYes(id)
    expect(await project.read('agents/bare.yml')).equal(
      FILES['agents/bare.yml'].replace(
        'Hello ${USER_NAME:-you}, be kind.',
        () => 'Hi ${USER_NAME:-you}. $${HOME} $${x} $${',
      ),
    )
  })

  it('write values of called agents into their files', async () => {
    const { project, post, sayYes, shown } = await serve()
    const { id } = await post(change('Be brief.', 'boss', { agent: 'bare' }))
    expect(shown).contain('The debug page asks: Write bare.main.system_prompt into agents/bare.yml')
    await sayYes(id)
    expect(await project.read('agents/bare.yml')).contain('system_prompt: Be brief. # as the boss says')
    expect(await project.read('agents/boss.yml')).equal(FILES['agents/boss.yml'])
  })

  it('leave a prompt alone that stands in a file which others may share', async () => {
    const { post } = await serve()
    expect(await post(change('Be brief.', 'boss'))).include({
      status: 400,
      detail: 'main.system_prompt stands in prompts/boss.md, which other agents may share: copy the text into it.',
    })
  })

  it('change no more of an agent than a variant may', async () => {
    const { post } = await serve()
    const { detail } = await post(change('shop', 'boss', { module: 'agents', path: ['agents', 0] }))
    expect(detail).match(/agents\S* may not be changed by a variant/)
    expect((await post(change('Hello ${USER_NAME:-you}, be kind.'))).detail).equal(
      'agents/bare.yml has these values already.',
    )
    expect((await post(change('x', 'nobody'))).detail).equal("There is no file of an agent 'nobody'")
  })

  it('say on the live stream how they end, also to a page that comes back', async () => {
    const { server, questions, post } = await serve()
    const url = await server.listen()
    const { host } = new URL(url)
    const { id } = await post(EVALS, { host, origin: url })
    questions.answer('n')
    const leave = new AbortController()
    const response = await fetch(`${url}/api/ui/live`, { signal: leave.signal })
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes('event: questions')) break
    }
    leave.abort()
    const news = { id, state: 'refused', detail: 'Refused in the terminal. Nothing was written.' }
    expect(text).contain(`event: questions\ndata: ${JSON.stringify(news)}\n\n`)
  })
})

async function sizeOf(dir: string, runId: string): Promise<number> {
  return (await readFile(pathOfTape(dir, runId))).length
}
