import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AgentHost, type LLM } from 'agent-host'
import { expect } from 'chai'
import { planProject } from '../../src/project/create/plan-project.ts'
import { itWith } from '../support/it-with.ts'
import { runCli, runNode } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

/** The code blocks of a page that say in their first line which file they are, and its agents. */
function read(page: string): { files: Record<string, string>; agents: string[] } {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language, code = '']) => ({ language, code }))
  const files = blocks.flatMap(({ code }) => {
    const path = /^(?:\/\/|#) (\S+\.(?:ts|py|md))\n/.exec(code)?.[1]
    return path ? [[path, code] as const] : []
  })
  const agents = blocks.flatMap(({ language, code }) => (language === 'yaml' ? [code] : []))
  return { files: Object.fromEntries(files), agents }
}

async function makeDocumented(files: Record<string, string>) {
  const template = await planProject({ name: 'docs', llm: 'offline' })
  return makeProject({ ...Object.fromEntries(template.map(({ path, content }) => [path, String(content)])), ...files })
}

describe('the code of the docs', () => {
  it('reference.md and protocols.md: match the source', async () => {
    const script = fileURLToPath(new URL('../../scripts/write-reference.js', import.meta.url))
    expect(await runNode([script, '--check'])).deep.equal({ exitCode: 0, stdout: '', stderr: '' })
  })

  it('testing.md: its tests pass in a new project', async () => {
    const { files } = read('testing.md')
    expect(Object.keys(files).filter((path) => path.startsWith('tests/'))).deep.equal([
      'tests/support.test.ts',
      'tests/override.test.ts',
      'tests/agent-file.test.ts',
      'tests/waiting.test.ts',
      'tests/picture.test.ts',
      'tests/guard-and-memory.test.ts',
    ])
    const { dir } = await makeDocumented({ ...read('writing-modules.md').files, ...files })
    const { exitCode, stdout } = await runCli(['test'], { cwd: dir })
    expect([exitCode, /pass \d+/.exec(stdout)?.[0]]).deep.equal([0, 'pass 11'])
  })

  it('writing-modules.md: its agents answer with its modules', async () => {
    const { files, agents } = read('writing-modules.md')
    const { dir } = await makeDocumented(files)
    const host = new AgentHost({ projectDir: dir, environment: {} })
    try {
      for (const agent of agents) await host.register(agent)
      expect((await host.run('counting', 'one')).text).equal('1 turns')
      expect((await host.run('interpreter', 'agent')).text).equal('one who acts')
      const { attachments } = await host.run('painter', 'pink')
      expect(attachments.map(({ data }) => Buffer.from(data as Uint8Array).toString())[0]).contain('fill="pink"')
      expect((await host.run('interpreter', 'other')).text).equal('I do not know that word.')
    } finally {
      await host.close()
    }
  })

  it('prompts.md: its agents share a file', async () => {
    const { files, agents } = read('prompts.md')
    const { dir } = await makeDocumented(files)
    const host = new AgentHost({ projectDir: dir, environment: {} })
    const prompts: unknown[] = []
    const llm: LLM = {
      async *generate({ messages }) {
        prompts.push(...messages.filter(({ role }) => role === 'system').map(({ content }) => content))
        yield { type: 'finish', reason: 'stop' }
      },
    }
    try {
      for (const agent of agents) {
        const { id } = await host.register(agent)
        await host.run(id, 'Hello', { overrides: { llm } })
      }
      const rules = files['prompts/house-rules.md']?.trimEnd()
      expect(prompts).deep.equal([rules, rules, 'You answer questions about bills.', rules])
    } finally {
      await host.close()
    }
  })

  it('mcp.md and tools.md: a module is an MCP server, another shows a picture', async () => {
    const files = { ...read('mcp.md').files, ...read('tools.md').files }
    const agents = [...read('mcp.md').agents, ...read('tools.md').agents]
    const { dir } = await makeDocumented(files)
    const host = new AgentHost({ projectDir: dir, environment: {} })
    const reply = { tool_calls: [{ name: 'show_chart', arguments: { values: [10, 40] } }] }
    const register = (id: string, change = (text: string) => text) =>
      host.register(change(agents.find((text) => text.startsWith(`id: ${id}\n`)) ?? ''))
    try {
      await register('to_fahrenheit')
      expect((await host.run('to_fahrenheit', '', { input: { celsius: 100 } })).text).equal('212 °F')
      const script = `llm/mock, config: ${JSON.stringify({ replies: [reply, { text: 'There.' }] })}`
      await register('analyst', (text) => text.replace('llm/auto', script))
      const { text, attachments } = await host.run('analyst', 'Draw')
      expect([text, attachments.map(({ name }) => name)]).deep.equal(['There.', ['chart.svg']])
    } finally {
      await host.close()
    }
  })

  for (const page of ['eve', 'genkit', 'openai-agents']) {
    it(`coming-from-${page}.md: its desk waits for the refund of the agent that it asks`, async () => {
      const { files, agents } = read(`coming-from-${page}.md`)
      const { dir } = await makeDocumented(files)
      const host = new AgentHost({ projectDir: dir, environment: {} })
      try {
        for (const agent of agents) await host.register(agent)
        const { status, pending } = await host.run('desk', 'Refund 40 euros for the invoice INV-7')
        const [call] = pending
        expect([status, call?.name, call?.arguments, call?.asker?.agent]).deep.equal([
          'waiting',
          'refundInvoice',
          { invoice: 'INV-7', euros: 40 },
          'billing',
        ])
      } finally {
        await host.close()
      }
    })
  }

  for (const [page, question, answer] of [
    ['mastra', 'Find order 4711', /findOrder says: \{"number":4711,"status":"shipped"\}/],
    ['xaibo', 'What is the current time?', /current_time says: \d{4}-\d\d-\d\d .* UTC/],
    ['langgraph', 'Book a hotel room in the city of Lima', undefined],
  ] as const) {
    itWith(
      page === 'xaibo' ? 'Python 3.8' : undefined,
      `coming-from-${page}.md: its agent answers with its tool, or waits for an approval`,
      async () => {
        const { files, agents } = read(`coming-from-${page}.md`)
        const { dir } = await makeDocumented(files)
        const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH } })
        try {
          const { id } = await host.register(agents[0] as string)
          const { status, text, pending } = await host.run(id, question)
          if (answer) expect(text).match(answer)
          else expect([status, pending[0]?.name]).deep.equal(['waiting', 'bookRoom'])
        } finally {
          await host.close()
        }
      },
    )
  }
})
