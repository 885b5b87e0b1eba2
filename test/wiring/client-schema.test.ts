import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const agent = (id: string, output: object) =>
  `id: ${id}\nmodules:\n  - { id: echo, module: echo }\noutput: ${JSON.stringify({ type: 'object', ...output })}\n`

/** Each of these makes the first client list no tool at all, or is refused by the second. */
const REFUSED: Record<string, [schema: object, reason: string]> = {
  type: [{ properties: { x: { type: 'str' } } }, 'type must be JSONType or JSONType[]: str'],
  reference: [{ properties: { x: { $ref: '#/$defs/gone' } } }, "can't resolve reference #/$defs/gone"],
  enum: [{ properties: { x: { enum: [] } } }, 'enum must have non-empty array'],
  limit: [
    { properties: { x: { type: 'number', minimum: 0, exclusiveMinimum: true } } },
    'exclusiveMinimum value must be',
  ],
  nullable: [{ properties: { x: { nullable: true } } }, '"nullable" cannot be used without "type"'],
  dialect: [{ $schema: 'http://json-schema.org/draft-04/schema#' }, 'unsupported dialect'],
}

const TAKEN = { properties: { x: { $ref: '#/$defs/x' } }, required: ['x'], $defs: { x: { type: ['string', 'null'] } } }

describe('an output schema that clients of MCP refuse', () => {
  afterEach(closeServers)

  it('is a problem that check names, with its place', async () => {
    const files = Object.entries(REFUSED).map(([id, [schema]]) => [`agents/${id}.yml`, agent(id, schema)])
    const { dir } = await makeProject({ ...Object.fromEntries(files), 'agents/taken.yml': agent('taken', TAKEN) })
    const { exitCode, stdout, stderr } = await callCli(['check'], { cwd: dir })
    expect(exitCode).to.equal(1)
    expect(stdout).to.include("'taken' is fine").and.to.include('1 agent, 6 problems')
    for (const [id, [, reason]] of Object.entries(REFUSED)) {
      expect(stderr)
        .to.include(`agents/${id}.yml:4:1: output is no JSON Schema that clients of MCP can use: `)
        .and.to.include(reason)
    }
  })

  it('hides no other agent from them', async () => {
    const files = Object.entries(REFUSED).map(([id, [schema]]) => [`agents/${id}.yml`, agent(id, schema)])
    const server = await makeServer(
      { adapters: ['McpApiAdapter'] },
      { ...Object.fromEntries(files), 'agents/taken.yml': agent('taken', TAKEN) },
    )
    const client = new FirstClient({ name: 'first', version: '1' })
    await client.connect(new FirstTransport(new URL(`${await server.listen()}/mcp`)))
    try {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name))
        .to.include('taken')
        .and.not.to.include('type')
    } finally {
      await client.close()
    }
  })
})
