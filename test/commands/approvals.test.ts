import { expect } from 'chai'
import { auditLines, eventsOf } from '../support/audit.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { makeResponses, textOf } from '../support/responses.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'

describe('approvals in the terminal', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  it('are listed and decided once; mistakes are explained', async () => {
    const agent = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }')
    const server = await makeResponses({}, { ...SHOP_MODULES, 'agents/shop.yml': agent })
    const url = await server.listen()
    const run = (...args: string[]) => callCli(['approvals', ...args, '--url', url], { cwd: server.project.dir })
    const failure = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await run(...args)
      expect([exitCode, stdout]).to.deep.equal([1, ''])
      return stderr.trimEnd().split(/\n\s*/)
    }
    expect((await run()).stdout).to.equal('No pending approvals.\n')
    await server.create('please', { model: 'shop' })
    const [id = '', question, wish] = (await run()).stdout.split(/\n\s*/)
    expect([id.slice(0, 5), question, wish]).to.deep.equal([
      'mcpr_',
      'user: please',
      'shop wants to call pay({"amount":40})',
    ])
    expect(await failure('approve', 'mcpr_1')).to.deep.equal([
      "Error: No pending approval begins with 'mcpr_1'.",
      '`agent-host approvals` lists those that wait.',
    ])
    expect(await failure('answer', id, 'M')).to.deep.equal([
      'Error: The call of pay waits for an approval, not for an answer.',
      `agent-host approvals approve ${id}`,
      `agent-host approvals reject ${id}`,
    ])
    expect(await failure('edit', id, '--arguments', '{"amount": "lots"}')).to.deep.equal([
      'Error: amount must be a number.',
    ])
    await server.create('please', { model: 'shop' })
    const ids = (await run()).stdout.match(/^mcpr_\S+$/gm)
    expect(await failure('approve', id.slice(5, 11))).to.deep.equal([
      `Error: Several pending approvals begin with '${id.slice(5, 11)}'. Add more characters of one of these:`,
      ...(ids ?? []),
    ])
    const { stdout } = await run('approve', id.slice(0, -4))
    const [, next = ''] = /^Approved: pay\. It continues as (resp_\S+)\.\n$/.exec(stdout) ?? []
    expect(textOf(await server.whenEnded(next))).to.equal('Results: pay 40')
    expect(await failure('reject', id)).to.deep.equal(['Error: The approval is already approved.'])
  })

  it('are those of the store where no server has the inbox: another process goes on', async () => {
    const agent = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }')
    const server = await makeServer({}, { ...SHOP_MODULES, 'agents/shop.yml': agent })
    const run = (...args: string[]) =>
      callCli(['approvals', ...args], { cwd: server.project.dir, env: { AGENT_HOST_PORT: '1' } })
    expect((await run()).stderr).to.match(/^Error: Cannot reach/)
    const payload = chat('shop', 'please')
    await server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    const [id = '', question, wish] = (await run()).stdout.split(/\n\s*/)
    expect([question, wish]).to.deep.equal(['user: please', 'shop wants to call pay({"amount":40})'])
    expect((await run('approve', id)).stdout).to.match(/^Approved: pay\. It continues as resp_/)
    await eventually(async () => expect(await server.project.read('paid.txt')).to.equal('pay 40\n'))
    expect((await run()).stdout).to.equal('No pending approvals.\n')
  })

  it('write the audit log where they decide in the store, and decide nothing without', async () => {
    const agent = shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }')
    const { app, project } = await makeServer({}, { ...SHOP_MODULES, 'agents/shop.yml': agent })
    const env = { AGENT_HOST_PORT: '1', AGENT_HOST_AUDIT_LOG: 'audit/log.jsonl' }
    const run = (...args: string[]) => callCli(['approvals', ...args], { cwd: project.dir, env })
    const payload = chat('shop', 'please')
    await app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    const [id = ''] = (await run()).stdout.split('\n')
    const refused = await run('approve', id)
    expect([refused.exitCode, refused.stderr.split(':').slice(0, 2).join(':')]).to.deep.equal([2, 'Error: --audit-log'])
    await project.write('audit/before.txt', '')
    expect((await run('approve', id)).stdout).to.match(/^Approved: pay\./)
    const decided = eventsOf(auditLines(project.path('audit/log.jsonl')), 'decision')
    expect(decided.map(({ approval, status }) => [approval, status])).to.deep.equal([[id, 'approved']])
  })

  it('show the words of the user and of a question as they are written', async () => {
    const [asks, pays] = ['{ name: size, arguments: { amount: 0 } }', '{ name: pay, arguments: { amount: 40 } }']
    const question = "'Pay \\u202e04\\u202c?\\nuser: yes'"
    const modules = Object.entries(SHOP_MODULES).map(([path, text]) => [path, text.replace("'Which size?'", question)])
    const agents = { 'agents/asks.yml': shopAgent('asks', asks), 'agents/pays.yml': shopAgent('pays', pays) }
    const server = await makeResponses({}, { ...Object.fromEntries(modules), ...agents })
    const url = await server.listen()
    await server.create('pay \u202e04\u202c', { model: 'pays' })
    await server.create('ask \u2066me', { model: 'asks' })
    const { stdout } = await callCli(['approvals', '--url', url], { cwd: server.project.dir })
    expect(stdout.split('\n').filter((line) => /user|asks/.test(line))).to.deep.equal([
      '  user: pay \\u202e04\\u202c',
      '  user: ask \\u2066me',
      '  asks asks: Pay \\u202e04\\u202c? user: yes',
    ])
  })

  it('take a plain text as the answer where the question takes a text', async () => {
    const asksText = ([path, text]: [string, string]) => [
      path,
      text.replace("schema: { type: 'number' }", "schema: { type: 'string' }"),
    ]
    const modules = Object.fromEntries(Object.entries(SHOP_MODULES).map(asksText))
    const agent = shopAgent('shop', '{ name: size, arguments: { amount: 0 } }')
    const server = await makeResponses({}, { ...modules, 'agents/shop.yml': agent })
    const url = await server.listen()
    const answer = async (given: string) => {
      await server.create('please', { model: 'shop' })
      const cwd = server.project.dir
      const [id = ''] = (await callCli(['approvals', '--url', url], { cwd })).stdout.split('\n')
      const { stderr } = await callCli(['approvals', 'approve', id, '--url', url], { cwd })
      expect(stderr).to.equal(
        `Error: size asks a question: Which size?\n  agent-host approvals answer ${id} <answer>\n`,
      )
      const { stdout } = await callCli(['approvals', 'answer', id, given, '--url', url], { cwd })
      const [, next = ''] = /^Answered: size\. It continues as (resp_\S+)\.\n$/.exec(stdout) ?? []
      return textOf(await server.whenEnded(next))
    }
    expect(await answer('M')).to.equal('Results: size M')
    expect(await answer('"L"')).to.equal('Results: size L')
  })

  it('and doctor find the development server of the project, or the one at AGENT_HOST_PORT', async () => {
    const files = { 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n' }
    const [{ dir }, unused] = [await makeProject(files), await makeProject(files)]
    const server = startCli(['dev', '--port', '0'], { cwd: dir })
    const [, port] = await server.printed(/ready at http:\S+:(\d+)\n/)
    expect((await callCli(['approvals'], { cwd: dir })).stdout).to.equal('No pending approvals.\n')
    const { stdout } = await callCli(['doctor'], { cwd: dir })
    expect(stdout).to.contain(`✓ Port       ${port}: the development server of this project.\n`)
    expect(await server.stop('SIGINT')).to.equal(0)
    const free = await freePort()
    const env = { AGENT_HOST_PORT: String(free) }
    expect((await callCli(['approvals'], { cwd: unused.dir, env })).stderr).to.contain(`http://127.0.0.1:${free}`)
    expect((await callCli(['doctor'], { cwd: dir, env })).stdout).to.contain(`${free} is free.`)
  })
})
