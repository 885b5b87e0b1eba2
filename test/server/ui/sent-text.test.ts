import { expect } from 'chai'
import { callCli } from '../../support/call-cli.ts'
import { ask } from '../../support/graphql.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const guarded = (id: string, rule: string) => ({
  [`agents/${id}.yml`]: `id: ${id}
modules:
  - { id: llm, module: llm/mock, config: { replies: [The launch code is 1234., { error: no judge }] } }
  - { id: loop, module: orchestrator/tool-loop }
  - { id: rail, module: guard/output, config: { ${rule} } }`,
})
const FILES = {
  ...guarded('blocks', 'patterns: [launch code], reply: Not that.'),
  ...guarded('redacts', "action: redact, patterns: ['\\d+']"),
  ...guarded('holds', 'action: ask, patterns: [launch code]'),
  ...guarded('breaks', 'judge: It is harmless.'),
}
const QUERY = `{ runs { runs { agent_id status output first_text_ms
  ended: events(first: 1, event_type: "end") { events { result } } } } }`

interface Answer {
  readonly runs: {
    readonly runs: readonly {
      readonly agent_id: string
      readonly status: string
      readonly output: string
      readonly first_text_ms: number | null
      readonly ended: { readonly events: readonly [{ readonly result: { readonly text: string } }] }
    }[]
  }
}

const SENT = {
  blocks: ['completed', 'Not that.'],
  redacts: ['completed', 'The launch code is [redacted].'],
  holds: ['waiting', ''],
  breaks: ['failed', ''],
}

describe('the answer of a run with an output guard', () => {
  afterEach(closeServers)

  it('is what was sent, in lists and pages: never what the guard stopped', async () => {
    const server = await makeServer({ debug: true }, FILES)
    for (const agent of Object.keys(SENT)) {
      await server.app.inject({ method: 'POST', url: '/v1/chat/completions', payload: chat(agent, 'hi') })
    }
    const { runs } = await ask<Answer>(server, QUERY)
    const shown = runs.runs.map(({ agent_id, status, output, first_text_ms, ended }) => {
      expect(first_text_ms !== null).equal(output !== '')
      return [agent_id, [status, output], ended.events[0].result.text]
    })
    expect(Object.fromEntries(shown.map(([agent, facts]) => [agent, facts]))).deep.equal(SENT)
    for (const [agent, facts, text] of shown) expect([agent, text]).deep.equal([agent, facts?.[1]])
    await server.close()
    const { stdout } = await callCli(['runs', '--json'], { cwd: server.project.dir })
    const listed = JSON.parse(stdout).runs as readonly { agent_id: string; status: string; output: string }[]
    expect(Object.fromEntries(listed.map((run) => [run.agent_id, [run.status, run.output]]))).deep.equal(SENT)
  })
})
