import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { serverFlags } from '../../src/commands/server/server-flags.ts'
import * as agentHost from '../../src/index.ts'
import { SERVER_OPTIONS } from '../../src/server/options/options.ts'
import { itWith } from '../support/it-with.ts'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

/** The code block of a page that contains this. */
function blockWith(text: string, page = 'docs/getting-started.md'): string {
  const blocks = [...read(page).matchAll(/```\w+\n(.*?)```/gs)].map(([, code]) => code as string)
  const found = blocks.filter((code) => code.includes(text))
  expect(found, `blocks with ${text}`).to.have.length(1)
  return found[0] as string
}

async function answerOf(files: Record<string, string>, agent: string, question: string): Promise<string> {
  const { dir } = await makeProject(files)
  const host = new AgentHost({ projectDir: dir, environment: { PATH: process.env.PATH } })
  try {
    const { id } = await host.register(agent)
    return (await host.run(id, question)).text
  } finally {
    await host.close()
  }
}

const { AgentHost } = agentHost

describe('docs/protocols.md', () => {
  it('describes every protocol, with its methods', () => {
    const protocols = Object.values(agentHost as Record<string, unknown>).filter(
      (value): value is agentHost.Protocol =>
        agentHost.isObject(value) && typeof value.name === 'string' && Array.isArray(value.methods),
    )
    const sections = new Map(
      read('docs/protocols.md')
        .split('\n## ')
        .map((section) => [section.split('\n')[0], section]),
    )
    const missing = protocols.flatMap(({ name, methods }) =>
      methods
        .filter((method) => !sections.get(name)?.includes(`\n- **\`${method}\`**: `))
        .map((method) => `${name}.${method}`),
    )
    expect([protocols.length > 15, missing]).to.deep.equal([true, []])
  })
})

describe('the code of the README and the first pages', () => {
  for (const [file, start] of [
    ['tools/weather.ts', 'defineTool'],
    ['tools/weather.py', 'def temperature'],
  ] as const) {
    itWith(
      file.endsWith('.py') ? 'Python 3.8' : undefined,
      `${file} is a tool that the example agent calls`,
      async () => {
        const agent = blockWith('id: example', 'README.md').replace('tools/example.ts', file)
        const answer = await answerOf({ [file]: blockWith(start) }, agent, 'What is the temperature in Lima?')
        expect(answer).to.contain('Lima').and.to.contain('21')
      },
    )
  }

  it('modules/shout.ts is a module', async () => {
    const agent = 'id: shout\nmodules:\n  - id: shout\n    module: shout\n'
    expect(await answerOf({ 'modules/shout.ts': blockWith("name: 'Shout'") }, agent, 'hello')).to.equal('HELLO!')
  })

  it('the embedding prints events and the answer', async () => {
    const { dir } = await makeProject({ 'embed.ts': blockWith('new AgentHost', 'docs/embedding.md') })
    const { stdout } = await runCli(['run', 'embed.ts'], { cwd: dir })
    expect(stdout).to.contain('echo.Echo.handleText.call\n').and.to.contain('You said: hello\n')
  })
})

describe('docs/running.md', () => {
  it('has every limit of a server in its table', () => {
    const [, table = ''] = read('docs/running.md').split('## All limits')
    const limits = Object.entries(serverFlags()).flatMap(([name, { helpGroup }]) =>
      helpGroup === 'limit' ? [name] : [],
    )
    expect([limits.length > 10, limits.filter((name) => !table.includes(`\`--${name}\``))]).to.deep.equal([true, []])
  })
})

describe('docs/cli.md', () => {
  it('lists every option of the server with its variable', () => {
    const rows = [...read('docs/cli.md').matchAll(/^\| `--([a-z0-9-]+)[^|`]*(?:\\\|[^|`]*)?`\s*\| `([A-Z0-9_]+)`/gm)]
    expect(rows.map(([, flag, variable]) => ({ flag, variable }))).to.deep.equal(
      Object.values(SERVER_OPTIONS).map(({ flag, variable }) => ({ flag, variable })),
    )
  })
})
