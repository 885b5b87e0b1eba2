import { createHash } from 'node:crypto'
import { Client, fromJsonSchema, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { runConformance } from '../../support/conformance.ts'
import { makeMcp } from '../../support/mcp.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const SKILL = '---\nname: refunds\ndescription: How to refund.\nmetadata: { version: "1.0" }\n---\nRefund.\n'
const agent = (id: string, more = '') => `id: ${id}
${more}modules:
  - { id: llm, module: llm/mock, config: { replies: [hello] } }
  - { id: know, module: tools/skills }
  - { id: main, module: orchestrator/tool-loop }`

const FILES = {
  'agents/clerk.yml': agent('clerk', 'expose: [skills]\n'),
  'agents/private.yml': agent('private'),
  'skills/refunds/SKILL.md': SKILL,
  'skills/refunds/forms/a b.md': 'Name: ____',
}
const URI = 'skill://clerk/know/refunds/SKILL.md'
const EXTENSION = 'io.modelcontextprotocol/skills'

describe('skills over MCP (SEP-2640)', () => {
  afterEach(closeServers)

  for (const version of ['2025-06-18', '2026-07-28']) {
    it(`are listed, fetched and read, ${version}`, async () => {
      const client = await connect(version, FILES)
      expect(client.getServerCapabilities()).to.deep.include({ resources: {}, extensions: { [EXTENSION]: {} } })
      const { skills } = await ask(client, 'skills/list', {})
      const entry = {
        uri: URI,
        frontmatter: { name: 'refunds', description: 'How to refund.', metadata: { version: '1.0' } },
        resources: [
          { uri: URI, digest: digestOf(SKILL), size: Buffer.byteLength(SKILL) },
          { uri: 'skill://clerk/know/refunds/forms/a%20b.md', digest: digestOf('Name: ____'), size: 10 },
        ],
      }
      expect(skills).to.deep.equal([entry])
      expect((await ask(client, 'skills/get', { uri: URI })).skill).to.deep.equal(entry)
      const { resources } = await client.listResources()
      expect(resources).to.deep.equal([
        { uri: URI, name: 'refunds', description: 'How to refund.', mimeType: 'text/markdown' },
      ])
      const { contents } = await client.readResource({ uri: 'skill://clerk/know/refunds/forms/a%20b.md' })
      expect(contents).to.deep.equal([
        { uri: 'skill://clerk/know/refunds/forms/a%20b.md', mimeType: 'text/markdown', text: 'Name: ____' },
      ])
      await client.close()
    })

    it(`include nothing that is not exposed, ${version}`, async () => {
      const client = await connect(version, FILES)
      for (const uri of [
        'skill://private/know/refunds/SKILL.md',
        'skill://clerk/know/refunds/..%2f..%2fagents%2fclerk.yml',
        'skill://clerk/main/refunds/SKILL.md',
        'skill://clerk/know/nothing/SKILL.md',
      ]) {
        const failure = await client.readResource({ uri }).catch((error: Error) => error.message)
        expect(failure).to.match(/Resource not found/)
        const missing = await ask(client, 'skills/get', { uri }).catch((error: Json) => error.code)
        expect(missing).to.equal(-32602)
      }
      for (const uri of [{ toString: null, valueOf: null }, [URI], undefined]) {
        const { code, message } = await ask(client, 'skills/get', { uri }).catch((error: Json) => error)
        expect(code).to.equal(-32602)
        expect(message).to.match(/uri must be a string/)
      }
      await client.close()
    })
  }

  it('of the other agents stay where a module fails, and reading its own says so', async () => {
    const broken = `import { defineModule, Skills } from 'agent-host'
export default defineModule({ name: 'Broken', provides: [Skills], create: () => ({
  listSkills() { throw new Error('no disk') }, readSkillFile() { throw new Error('no disk') } }) })`
    const odd = 'id: odd\nexpose: [skills]\nmodules: [{ id: broken, module: broken }, { id: main, module: echo }]'
    const client = await connect('2025-06-18', { ...FILES, 'agents/odd.yml': odd, 'modules/broken.ts': broken })
    const failure = { code: -32603, message: 'Agent execution failed' }
    const own = { uri: 'skill://odd/broken/refunds/SKILL.md' }
    for (const read of [() => client.readResource(own), () => ask(client, 'skills/get', own)])
      expect(await read().catch(({ code, message }: Json) => ({ code, message }))).to.deep.equal(failure)
    expect((await client.listResources()).resources.map(({ uri }) => uri)).to.deep.equal([URI])
    expect((await ask(client, 'skills/list', {})).skills.map(({ uri }: Json) => uri)).to.deep.equal([URI])
    expect((await ask(client, 'skills/get', { uri: URI })).skill.uri).to.equal(URI)
    await client.close()
  })

  it('are absent from the protocol if no agent exposes them', async () => {
    const client = await connect('2025-06-18', { ...FILES, 'agents/clerk.yml': agent('clerk') })
    expect(client.getServerCapabilities()).to.not.have.property('extensions')
    expect(await ask(client, 'skills/list', {}).catch((error: Json) => error.code)).to.equal(-32601)
    await client.close()
  })

  it('pass the official conformance suite', async () => {
    const { listen } = await makeMcp({}, FILES)
    const url = `${await listen()}/mcp`
    const results = ['enumeration', 'manifest'].map(async (part) => {
      const { dir } = await makeProject()
      return runConformance(url, '2026-07-28', dir, `sep-2640-skills-${part}`)
    })
    const [enumeration, manifest] = await Promise.all(results)
    expect([...(enumeration?.failed ?? []), ...(manifest?.failed ?? [])]).to.deep.equal([])
    expect([...(enumeration?.passed ?? [])]).to.include.members([
      'sep-2640-resources-complete',
      'sep-2640-skills-get-implemented',
    ])
    expect([...(manifest?.passed ?? [])]).to.include.members([
      'sep-2640-skillmd-mimetype',
      'sep-2640-skillmd-metadata-name',
    ])
  })
})

const ANYTHING = fromJsonSchema<Json>({})

function ask(client: Client, method: string, params: Json): Promise<Json> {
  return client.request({ method, params }, ANYTHING)
}

async function connect(version: string, files: Record<string, string>): Promise<Client> {
  const server = await makeMcp({}, files)
  const mode = version === '2026-07-28' ? 'auto' : 'legacy'
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', await server.listen())))
  return client
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}
