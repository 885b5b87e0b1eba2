import { expect } from 'chai'
import { CONFORMANCE_PROJECT, type Conformance, runConformance } from '../../support/conformance.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

/** What the suite asks of servers and this one does not have: checks by the beginning of their id, with the reason. */
const NOT_HERE: readonly [id: RegExp, reason: string][] = [
  [/^(resources|sep-2549-resources)-/, 'A server of tools: agents are no resources.'],
  [/^(prompts|sep-2549-prompts)-/, 'A server of tools: agents are no prompts.'],
  [/^completion-/, 'Completes arguments of prompts and resources, which there are none of.'],
  [
    /^(logging-|tools-call-with-logging$|sep-2575-server-no-log-without-loglevel$)/,
    'Logs go to the log of the server.',
  ],
  [/^tools-call-error$/, 'The specification of this server answers a failed agent with -32603.'],
  [
    /^(tools-call-sampling|sep-2322-(sampling|list-roots|multiple-inputs|respect-client-capabilities))/,
    'Agents ask the user of a client, never for its model or its folders.',
  ],
  [/^sep-2322-non-tool-/, 'There are no prompts.'],
  [/^sep-2575-(server-rejects-undeclared|missing)-capability/, 'No agent needs a capability of the client.'],
  [/^sep-2575-http-server-no-independent-requests-on-stream$/, 'Needs a tool that asks the client.'],
  [
    /^sep-2243-server-(no-xmcp-tool|decode-base64|validate-param-match|reject-invalid-param-chars|reject-param-mismatch)$/,
    'No agent mirrors an argument in a header.',
  ],
]

/** Some of what has to pass, so that an empty run is no success. */
const CORE = ['tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-mixed-content']

const ELICITATION = [
  'tools-call-elicitation',
  ...['string', 'integer', 'number', 'enum', 'boolean'].map((type) => `elicitation-sep1034-${type}-default`),
  'elicitation-sep1330-untitled-single',
]
const INPUT_REQUIRED = [
  'elicitation-incomplete',
  'elicitation-complete',
  'multi-round-r3',
  'reject-tampered-state',
].map((name) => `sep-2322-${name}`)

describe('the official conformance suite of MCP', () => {
  afterEach(closeServers)

  for (const [version, more, least] of [
    ['2025-11-25', ['server-initialize', 'ping', 'tools-call-with-progress', ...ELICITATION], 14],
    ['2026-07-28', ['sep-2575-server-implements-discover', ...INPUT_REQUIRED], 50],
  ] as const) {
    it(`passes for clients of ${version}, except for features that a tool server lacks`, async () => {
      const { listen } = await makeServer({ adapters: ['McpApiAdapter'] }, CONFORMANCE_PROJECT)
      const { dir } = await makeProject()
      const { passed, failed } = await runConformance(`${await listen()}/mcp`, version, dir)
      expect(unexplained(failed)).to.deep.equal([])
      expect([...passed]).to.include.members([...CORE, ...more])
      expect(passed.size).to.be.at.least(least)
    })
  }
})

function unexplained(failed: Conformance['failed']): string[] {
  const strangers = [...failed].filter(([id]) => !NOT_HERE.some(([pattern]) => pattern.test(id)))
  return strangers.map(([id, message]) => `${id}: ${message}`)
}
