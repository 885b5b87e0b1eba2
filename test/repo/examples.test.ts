import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { AgentHost, buildServer, openProject } from 'agent-host'
import { expect } from 'chai'
import { AgentFolder } from '../../src/host/agent-folder/agent-folder.ts'
import { silentLog } from '../../src/protocols/log.ts'
import { callCli } from '../support/call-cli.ts'
import { DESK_FILES, REFUND, RETURNS } from '../support/desk-example.ts'
import { runNode } from '../support/run-cli.ts'
import { openRecordingHost } from '../support/tapes.ts'
import { makeProject } from '../support/temp-project.ts'

const RUN_ID = 'aaaa0000-0000-4000-8000-000000000000'
const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

describe('examples/waiting-runs', () => {
  it('has a program that asks and exits, and another that decides', async () => {
    const { dir } = await makeProject()
    const run = (...args: string[]) =>
      runNode(args.with(0, `${EXAMPLES}waiting-runs/${args[0]}`), { env: { RESPONSES_DIR: dir } })
    const asked = await run('ask.js', 'Please refund 20 euros.')
    expect(asked.stdout).to.match(/^[0-9a-f-]{36} waits for refund\(\{"euros":20\}\)\n$/)
    expect(await run('decide.js', 'approve')).to.deep.equal({
      exitCode: 0,
      stdout: 'refund says: Refunded 20 euros.\n',
      stderr: '',
    })
    expect((await run('decide.js')).stdout).to.equal('')
  })
})

describe('examples/agents-calling-agents', () => {
  it('has an agent that calls the agent of another server', async () => {
    const library = await buildServer({
      projectDir: `${EXAMPLES}agents-calling-agents/library`,
      adapters: ['McpApiAdapter'],
      mcpApiKey: 'k-1',
      port: 0,
      logLevel: 'silent',
    })
    const url = `${await library.listen()}/mcp`
    const projectDir = `${EXAMPLES}agents-calling-agents/desk`
    const environment = { PATH: process.env.PATH, LIBRARY_URL: url, LIBRARY_KEY: 'k-1' }
    const host = new AgentHost({ projectDir, environment })
    try {
      const folder = new AgentFolder(host, `${projectDir}/agents`, silentLog)
      await folder.scan()
      expect(folder.problems()).to.deep.equal([])
      const { text } = await host.run('desk', 'Use the librarian to find a book with the subject "owls".')
      expect(text).to.contain('shelf 4')
    } finally {
      await host.close(0)
      await library.close()
    }
  })
})

describe('examples/desk', () => {
  it('passes its evals, one of which expects a run that waits; such a run becomes a case that expects the same', async () => {
    const { dir, path } = await makeProject(DESK_FILES)
    const { exitCode, stdout } = await callCli(['eval'], { cwd: dir })
    expect([exitCode, stdout]).deep.equal([0, stdout])
    expect(stdout).contain('desk: 3 of 3 cases passed')
    const recording = await openRecordingHost(dir)
    for (const id of ['billing', 'kb', 'desk']) {
      await recording.host.register(DESK_FILES[`agents/${id}.yml`], { file: `agents/${id}.yml` })
    }
    await recording.run('billing', 'Refund 40 euros for INV-7: it arrived broken.', { runId: RUN_ID })
    await recording.close()
    await callCli(['runs', 'save', RUN_ID, '--case', 'evals/saved.jsonl', '--name', 'saved'], { cwd: dir })
    const row: unknown = JSON.parse(await readFile(path('evals/saved.jsonl'), 'utf8'))
    expect(row).deep.include({ expected_waits: [{ tool: 'refund', arguments: { number: 'INV-7', euros: 40 } }] })
    const again = await callCli(['eval', 'evals/saved.jsonl'], { cwd: dir })
    expect([again.exitCode, again.stdout]).deep.equal([0, again.stdout])
    expect(again.stdout).contain('waits 1.00')
  })

  it('asks its agents, remembers per user, redacts, and waits for a person about a refund', async () => {
    const { dir } = await makeProject(DESK_FILES)
    const project = await openProject({ projectDir: dir, logLevel: 'silent' })
    const say = async (input: string, user: string) => (await project.run('desk', input, { user })).text
    try {
      expect(await say(RETURNS, 'ada'))
        .contain('within 30 days')
        .contain('[redacted]')
      expect(await say('Is there a receipt of INV-7?', 'ada')).equal('I see a receipt of INV-7.')
      expect(await say('Remember that I prefer e-mail.', 'ada')).equal('I will remember that I prefer e-mail.')
      expect(await say('What do you remember about me?', 'ada')).contain('I prefer e-mail.')
      expect(await say('What do you remember about me?', 'bob')).contain('Nothing was found.')
      const { runId, pending } = await project.run('desk', REFUND, { user: 'ada' })
      expect(pending.map(({ name, asker }) => [name, asker?.agent, asker?.askedBy])).deep.equal([
        ['refund', 'billing', ['desk']],
      ])
      const answers = pending.map(({ callId }) => ({ callId, kind: 'approval' as const, decision: 'approve' as const }))
      expect((await project.resume(runId, answers)).text).contain('Refunded 40 euros for INV-7.')
    } finally {
      await project.close()
    }
  })
})
