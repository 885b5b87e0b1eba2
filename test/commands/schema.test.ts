import { Ajv, type ErrorObject } from 'ajv'
import { expect } from 'chai'
import { parse } from 'yaml'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { killRunning, runCli, startCli } from '../support/run-cli.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const OWN = `import { defineModule, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Own', description: 'The own one', provides: [TextMessageHandler],
  config: Type.Object({ size: Type.Integer({ minimum: 1 }), deep: Type.Object({ on: Type.Boolean({ default: true }) }, { default: {} }), name: Type.String() }),
  create: () => ({ async handleText() {} }) })`

describe('schema', () => {
  afterEach(killRunning)

  const readSchema = async ({ dir, write }: TempProject) => {
    await write('agents/none.txt', '')
    const { exitCode, stdout } = await callCli(['schema'], { cwd: dir })
    expect(exitCode).equal(0)
    return JSON.parse(stdout)
  }
  /** Where an editor would draw a line, and why. */
  const problemsOf = (schema: object, yaml: string) => {
    const ajv = new Ajv({ allErrors: true, strict: false })
    const validate = ajv.compile(schema)
    validate(parse(yaml))
    const where = ({ instancePath, keyword, params }: ErrorObject) =>
      `${instancePath} ${keyword} ${params.additionalProperty ?? params.missingProperty ?? ''}`.trim()
    return (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if' && keyword !== 'anyOf').map(where)
  }
  const agent = (module: string, config: string) => `id: a\nmodules: [{ id: m, module: ${module}, config: ${config} }]`

  it('accepts the agents of a new project, and library modules without config', async () => {
    const { dir } = await makeProject()
    await callCli(['init', 'fresh', '--yes'], { cwd: dir })
    const { stdout } = await runCli(['schema'], { cwd: `${dir}/fresh` })
    const { readFile } = await import('node:fs/promises')
    const read = (file: string) => readFile(`${dir}/fresh/${file}`, 'utf8')
    expect(problemsOf(JSON.parse(stdout), await read('agents/example.yml'))).deep.equal([])
    // init has written the same for editors, and the example names it.
    expect(JSON.parse(await read('.agent-host/agent.schema.json'))).deep.equal(JSON.parse(stdout))
    expect(await read('agents/example.yml')).match(
      /^# yaml-language-server: \$schema=\.\.\/\.agent-host\/agent\.schema\.json\n/,
    )
    expect(await read('.gitignore')).contain('.agent-host/agent.schema.json')
  })

  it('describes the config of every module of the library and the project', async () => {
    const project = await makeProject({ 'modules/own.ts': OWN, 'modules/broken.ts': 'export default nothing' })
    const schema = await readSchema(project)
    expect(problemsOf(schema, agent('own', '{ size: 1, name: x }'))).deep.equal([])
    expect(problemsOf(schema, agent('own', '{ size: 0, nmae: x, deep: { of: 1 } }'))).include.members([
      '/modules/0/config required name',
      '/modules/0/config additionalProperties nmae',
      '/modules/0/config/size minimum',
      '/modules/0/config/deep additionalProperties of',
    ])
    expect(problemsOf(schema, agent('echo', '{ prefx: x }'))).deep.equal([
      '/modules/0/config additionalProperties prefx',
    ])
    expect(problemsOf(schema, agent('broken', '{ anything: 1 }'))).deep.equal([])
    expect(problemsOf(schema, agent('./lib/other.ts', '{ anything: 1 }'))).deep.equal([])
    const names = schema.properties.modules.items.properties.module.anyOf.map(
      ({ const: name }: { const?: string }) => name,
    )
    expect(names).include.members(['own', 'echo', 'llm/auto', 'orchestrator/tool-loop'])
  })

  it('accepts an environment variable for a number or a boolean', async () => {
    const project = await makeProject({ 'modules/own.ts': OWN })
    const schema = await readSchema(project)
    const config = '{ size: "${SIZE:-3}", name: "${NAME}", deep: { on: "${ON}" } }'
    expect(problemsOf(schema, agent('own', config))).deep.equal([])
    expect(problemsOf(schema, agent('own', '{ size: three, name: x }'))).not.deep.equal([])
  })

  it('rejects unknown keys of an agent file', async () => {
    const schema = await readSchema(await makeProject())
    const wrong = 'id: a b\nmodels: []\nmodules: [{ id: m, module: echo, scpe: agent }]\nexchange: [{ modul: m }]'
    expect(problemsOf(schema, wrong)).include.members([
      '/id pattern',
      'additionalProperties models',
      '/modules/0 additionalProperties scpe',
      '/exchange/0 additionalProperties modul',
      '/exchange/0 required module',
    ])
  })

  it('is kept up to date by dev', async () => {
    const project = await makeProject({
      'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
      'modules/index.ts': 'export {}',
    })
    const server = startCli(['dev', '--port', '0'], { cwd: project.dir })
    await server.printed(/Ctrl-C stops/)
    const kept = async () => JSON.stringify(JSON.parse(await project.read('.agent-host/agent.schema.json')))
    await eventually(async () => expect(await kept()).contain('orchestrator/tool-loop'))
    await project.write('modules/own.ts', OWN)
    await project.write('agents/own.yml', agent('own', '{ size: 1, name: x }'))
    await eventually(async () => expect(await kept()).contain('The own one'))
    await server.stop()
  })
})
