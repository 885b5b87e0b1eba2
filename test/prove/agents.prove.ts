// A child run waits, its server is killed, and another server decides: on PostgreSQL and Redis, 20 of 20 go on, and nothing is done twice. Skills over MCP pass the official conformance suite under Node 24.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { askApprovals } from '../support/ask-approvals.ts'
import { runConformance } from '../support/conformance.ts'
import { describeWith } from '../support/describe-with.ts'
import { eventually } from '../support/eventually.ts'
import { makeMcp } from '../support/mcp.ts'
import type { Json } from '../support/responses.ts'
import { type ResponsesProcess, startResponses } from '../support/responses-process.ts'
import { killRunning } from '../support/run-cli.ts'
import { closeServers } from '../support/server.ts'
import { hasPostgres, hasRedis, type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const ROUNDS = 20
const agent = (id: string, steps: object[], tools: string) => `id: ${id}
modules:
  - { id: llm, module: follows, config: { steps: ${JSON.stringify(steps)} } }
  - { id: tools, ${tools} }
  - { id: loop, module: orchestrator/tool-loop }`
const caller = (id: string, called: string) =>
  agent(id, [{ name: called, arguments: { message: 'go' } }], `module: tools/agents, config: { agents: [${called}] }`)
const PROJECT = {
  'agents/desk.yml': caller('desk', 'billing'),
  'agents/billing.yml': caller('billing', 'cashier'),
  'agents/cashier.yml': agent(
    'cashier',
    [
      { name: 'look', arguments: {} },
      { name: 'pay', arguments: { euros: 5 } },
    ],
    'module: tools/local, config: { files: [tools/pay.ts] }',
  ),
  // What it does follows from the conversation alone, so that it is the same on any server.
  'modules/follows.ts': `import { defineModule, LLM, Type } from 'agent-host'
export default defineModule({ name: 'Follows', provides: [LLM], config: Type.Object({ steps: Type.Array(Type.Unknown()) }),
  create: (_, { steps }) => ({ async *generate({ messages }) {
    const done = messages.filter(({ role }) => role === 'tool').length
    if (steps[done]) yield { type: 'tool_call', call: { id: 'call_' + done, ...steps[done] } }
    else yield { type: 'text', text: 'all done' }
    yield { type: 'finish', reason: steps[done] ? 'tool_calls' : 'stop' }
  } }) })`,
  'tools/pay.ts': `import { appendFileSync } from 'node:fs'
import { defineTool, Type } from 'agent-host'
const note = (text) => (appendFileSync('done.txt', text + '\\n'), text)
export const look = defineTool({ description: 'Looks.', parameters: Type.Object({}), execute: () => note('look') })
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({ euros: Type.Number() }), needsApproval: true,
  execute: () => note('pay') })`,
}

const SKILLS = {
  'agents/clerk.yml': `id: clerk
expose: [skills]
modules:
  - { id: llm, module: llm/mock, config: { replies: [hello] } }
  - { id: know, module: tools/skills }
  - { id: main, module: orchestrator/tool-loop }`,
  'skills/refunds/SKILL.md':
    '---\nname: refunds\ndescription: How to refund.\nlicense: MIT\n---\nSee [the form](forms/form.md).\n',
  'skills/refunds/forms/form.md': 'Name: ____',
  'skills/greeting/SKILL.md': '---\nname: greeting\ndescription: How to greet.\n---\nSay hello.\n',
}

describe('child runs that wait', () => {
  afterEach(killRunning)

  for (const [name, isThere, startServer] of [
    ['PostgreSQL', hasPostgres(), startPostgres],
    ['Redis', hasRedis(), startRedis],
  ] as const) {
    describeWith(name, isThere, `on ${name}`, () => {
      let store: StoreServer
      before(async () => {
        store = await startServer()
      })
      after(() => store?.remove())

      it(`${ROUNDS} kills: the other server continues all three levels, and each call was executed once`, async () => {
        const project = await makeProject(PROJECT)
        const serve = (server: string) =>
          startResponses(project.dir, ['--store', store.directUrl, '--server-name', server])
        const other = await serve('other')
        for (let round = 1; round <= ROUNDS; round++) {
          await killAndDecide(await serve(`round-${round}`), other, project, round)
        }
        await other.stop('SIGTERM')
      }).timeout(300_000)
    })
  }
})

const PARENTS = {
  'agents/desk.yml': `id: desk
modules:
  - id: llm
    module: llm/mock
    config:
      replies:
        - tool_calls: [{ name: billing, arguments: { message: a } }, { name: billing, arguments: { message: b } }, { name: billing, arguments: { message: c } }]
        - all done
  - { id: team, module: tools/agents, config: { agents: [billing] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/billing.yml': `id: billing
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: five, delay_ms: 500 }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
}

describe('child runs of a server that is full', () => {
  afterEach(killRunning)

  it('end, three of each of two parents; a third parent is refused', async () => {
    const { dir } = await makeProject(PARENTS)
    const server = await startResponses(dir, ['--max-concurrent-runs', '2'])
    const replies = await Promise.all(['one', 'two', 'three'].map((input) => server.ask('', { model: 'desk', input })))
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([200, 200, 503])
    for (const { json } of replies.filter(({ status }) => status === 200)) {
      expect(json.status).to.equal('completed')
      expect(JSON.stringify(json.output)).to.contain('all done')
    }
    await server.stop('SIGTERM')
  }).timeout(60_000)
})

/** What each scenario checks, and the server has to pass. */
const SKILL_CHECKS = {
  enumeration: [
    ...['skills-list-implemented', 'skills-list-entry-atomic', 'skills-list-pagination', 'skills-get-implemented'],
    ...['skills-get-unknown-uri-invalid-params', 'skills-get-no-cursor', 'capability-commits-to-methods'],
    ...['entry-frontmatter-identical', 'resources-complete', 'resources-digest-format', 'resources-uri-within-skill'],
  ],
  manifest: ['skillmd-mimetype', 'skillmd-metadata-name', 'skillmd-metadata-description', 'final-segment-equals-name'],
  // Folders are not listed: the capability for it is not declared.
  directory: [],
}

describe('skills over MCP', () => {
  afterEach(closeServers)

  it('pass sep-2640-* of the conformance suite under Node 24 from npm', async () => {
    const { dir } = await makeProject({ 'package.json': '{ "private": true }' })
    await promisify(execFile)('npm', ['install', '--no-fund', '--no-audit', 'node@24'], { cwd: dir })
    const node = `${dir}/node_modules/node/bin/node`
    expect((await promisify(execFile)(node, ['--version'])).stdout).to.match(/^v24\./)
    const { listen } = await makeMcp({}, SKILLS)
    const url = `${await listen()}/mcp`
    for (const [scenario, checks] of Object.entries(SKILL_CHECKS)) {
      const { dir: output } = await makeProject()
      const { passed, failed } = await runConformance(url, '2026-07-28', output, `sep-2640-skills-${scenario}`, node)
      expect([...failed]).to.deep.equal([])
      expect([...passed]).to.include.members(['wire-schema-valid', ...checks.map((check) => `sep-2640-${check}`)])
    }
  }).timeout(300_000)
})

async function killAndDecide(
  killed: ResponsesProcess,
  other: ResponsesProcess,
  project: TempProject,
  round: number,
): Promise<void> {
  const asked = await killed.ask('', { model: 'desk', input: 'please' })
  expect(asked.status).to.equal(200)
  await killed.stop('SIGKILL')
  const { data } = await askApprovals(other, '?status=pending')
  expect(data.map(({ name, agent }: Json) => `${agent} ${name}`)).to.deep.equal(['desk pay'])
  const { continued_by: next } = await askApprovals(other, `/${data[0].id}`, { decision: 'approve' })
  const output = await eventually(async () => {
    const { json } = await other.ask(`/${next}`)
    expect(json.status).to.equal('completed')
    return JSON.stringify(json.output)
  }, 20_000)
  expect(output).to.contain('all done')
  const done = (await readFile(project.path('done.txt'), 'utf8')).trim().split('\n')
  expect(done.filter((line) => line === 'look')).to.have.length(round)
  expect(done.filter((line) => line === 'pay')).to.have.length(round)
}
