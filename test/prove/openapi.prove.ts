// The OpenAPI document compiles to types, and no answer to 2,000 calls of schemathesis is outside of it, or a fault of the server.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentServer } from 'agent-host'
import { expect } from 'chai'
import { execa } from 'execa'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import type { Json } from '../support/responses.ts'
import { closeServers, makeServer } from '../support/server.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']
const CALLS = 2000
/** Operations without any input are called once. */
const CALLS_PER_OPERATION = 60
/** Enough for the calls that delete or decide one. */
const THINGS = 60
const CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'

const CLIENT = `import type { paths, components } from './api.d.ts'
type Answer = paths['/v1/responses']['post']['responses']['200']['content']['application/json']
export const statusOf = ({ status }: Answer) => status
export const events: components['schemas']['ResponseEvent'][] = [{ type: 'response.output_text.delta', sequence_number: 4,
  item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hi' }]
// @ts-expect-error there is no such field
export const wrong = ({ nothing }: Answer) => nothing
`

describe('openapi', () => {
  let dir: string

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'agent-host-openapi-'))
  })
  after(() => rm(dir, { recursive: true, force: true }))
  afterEach(closeServers)

  it('compiles with openapi-typescript and TypeScript 5', async () => {
    const { app } = await makeServer({ adapters: ADAPTERS, metrics: true })
    await writeFile(join(dir, 'openapi.json'), (await app.inject('/openapi.json')).body)
    await writeFile(join(dir, 'package.json'), '{"type":"module"}')
    await execa('npm', ['install', '--no-fund', '--no-audit', 'openapi-typescript@7', 'typescript@5'], { cwd: dir })
    await execa('npx', ['openapi-typescript', 'openapi.json', '-o', 'api.d.ts'], { cwd: dir })
    await writeFile(join(dir, 'client.ts'), CLIENT)
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--allowImportingTsExtensions']
    await execa('npx', ['tsc', ...flags, 'client.ts', 'api.d.ts'], { cwd: dir })
  }).timeout(300_000)

  it(`holds for ${CALLS} calls of schemathesis`, async () => {
    const server = await makeServer({ adapters: ADAPTERS, metrics: true, streamingTimeout: 1 }, CLIENT_TOOLS_PROJECT)
    await writeFile(join(dir, 'openapi.json'), JSON.stringify(await readDocument(server)))
    await execa('python3', ['-m', 'venv', 'venv'], { cwd: dir })
    await execa('venv/bin/pip', ['install', '--quiet', 'schemathesis'], { cwd: dir })
    const options = {
      url: await server.listen(),
      phases: 'fuzzing',
      mode: 'all',
      checks: CHECKS,
      'max-examples': CALLS_PER_OPERATION,
      'request-timeout': 30,
      // Endless by design.
      'exclude-operation-id': 'followLive',
    }
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    const run = execa('venv/bin/schemathesis', ['run', 'openapi.json', ...flags, '--no-color'], {
      cwd: dir,
      reject: false,
    })
    const { stdout, exitCode } = await run
    expect(exitCode, stdout.slice(-8000)).to.equal(0)
    const [, calls] = /(\d+) generated, \1 passed/.exec(stdout) ?? []
    expect(Number(calls)).to.be.at.least(CALLS)
  }).timeout(800_000)

  /** The document of a server, with the names and ids of what is there: of any text hardly one would be. */
  async function readDocument({ app }: AgentServer): Promise<Json> {
    const document = (await app.inject('/openapi.json')).json()
    const models = { type: 'string', enum: ['echo', 'desk/sales', 'model', 'nobody'] }
    for (const name of ['ChatRequest', 'CreateRequest']) document.components.schemas[name].properties.model = models
    const responses = await createMany(app, { model: 'echo', input: 'hi', background: true })
    await createMany(app, { model: 'tools', input: 'pay Lima' })
    const inbox = (await app.inject(`/v1/approvals?limit=${THINGS}`)).json()
    const approvals = inbox.data.map(({ id }: Json) => id)
    for (const [path, item] of Object.entries<Json>(document.paths)) {
      const ids = { type: 'string', enum: ['nothing', ...(path.includes('/approvals/') ? approvals : responses)] }
      const parameters = Object.values<Json>(item).flatMap(({ parameters = [] }) => parameters)
      for (const parameter of parameters) {
        if (parameter.name === 'id') parameter.schema = ids
        if (parameter.name === 'model') parameter.schema = models
      }
    }
    return document
  }

  async function createMany(app: AgentServer['app'], payload: object): Promise<string[]> {
    const create = () => app.inject({ method: 'POST', url: '/v1/responses', payload })
    const created = await Promise.all(Array.from({ length: THINGS }, create))
    return created.map((answer) => answer.json().id)
  }
})
