import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { itWith } from '../support/it-with.ts'
import { runCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const TOOLS = `import { defineTool, Type } from 'agent-host'
export const sum = defineTool({ description: 'Adds two numbers.', parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute({ a, b }) {
    if (a < 0) throw new Error('too small')
    return { sum: a + b }
  } })
`
const agent = (id: string, more = '') => `id: ${id}
modules:
  - { id: llm, module: llm/auto }
  - { id: tools, module: tools/local, config: { files: [tools/sum.ts] } }
${more}  - { id: loop, module: orchestrator/tool-loop, config: { system_prompt: 'Keep $\${this}' } }
`
const MEMORY = `  - { id: embedder, module: embedder/local }
  - { id: index, module: memory/exact-index, config: { persist: false } }
  - { id: memory, module: memory/vector-memory, config: { persist: false } }
  - { id: remember, module: tools/memory }
`
const FILES = { 'tools/sum.ts': TOOLS, 'agents/one.yml': agent('one', MEMORY) }

describe('tool', () => {
  it('calls a single tool without a model', async () => {
    const { dir } = await makeProject(FILES)
    expect(await runCli(['tool', 'sum', '{"a": 1, "b": 2}'], { cwd: dir })).deep.equal({
      exitCode: 0,
      stdout: '{"sum":3}\n',
      stderr: '',
    })
    const { stdout } = await callCli(['tool', 'sum', '{"a": 1, "b": 2}', '--json'], { cwd: dir })
    expect(JSON.parse(stdout)).deep.equal({ name: 'sum', agent: 'one', arguments: { a: 1, b: 2 }, result: { sum: 3 } })
  })

  it('creates the modules that the tool needs', async () => {
    const { dir } = await makeProject(FILES)
    const { stdout } = await callCli(['tool', 'memory_store', '{"text": "costs 5 ${DOLLARS}"}'], { cwd: dir })
    expect(stdout).match(/^Remembered as /)
  })

  it('lists the tools of every agent', async () => {
    const { dir } = await makeProject(FILES)
    const { stdout } = await callCli(['tool'], { cwd: dir })
    expect(stdout.split('\n')[0]).equal('sum            Adds two numbers.  [one]')
    expect(stdout.split('\n')).length(7)
  })

  it('keeps attachments in JSON, and traces the call alone', async () => {
    const { dir } = await makeProject({
      'agents/one.yml': 'id: one\nmodules: [{ id: tools, module: painter }, { id: main, module: echo }]',
      'modules/painter.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Painter', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }],
  executeTool: async () => ({ text: 'done', attachments: [{ mediaType: 'image/png', data: Uint8Array.of(1, 2) }] }) }) })`,
    })
    const { stdout } = await callCli(['tool', 'paint', '--json'], { cwd: dir })
    expect(JSON.parse(stdout).attachments).deep.equal([{ mediaType: 'image/png', base64: 'AQI=' }])
    const { runs } = JSON.parse((await callCli(['runs', '--json'], { cwd: dir })).stdout)
    expect(runs.map(({ input }: { input: string }) => input)).deep.equal(['paint'])
  })

  it('exits with 1, and says why, where its output cannot be written', async () => {
    const { dir } = await makeProject(FILES)
    const runtime = ['sh', '-c', 'exec "$0" "$@" >/dev/full', process.execPath] as const
    const { exitCode, stderr } = await runCli(['tool', '--json'], { cwd: dir, runtime })
    expect([exitCode, /ENOSPC/.test(stderr)]).deep.equal([1, true])
  })

  it('shows where in the project a tool throws, and exits with 1', async () => {
    const { dir } = await makeProject(FILES)
    const { exitCode, stdout, stderr } = await callCli(['tool', 'sum', '{"a": -1, "b": 2}'], { cwd: dir })
    expect([exitCode, stdout]).deep.equal([1, ''])
    expect(stderr).match(/^Error: too small\n {4}at .*tools\/sum\.ts:4:\d+\)?\n {4}\+\d+ internal frames\n$/)
  })

  itWith('Python 3.8', 'shows the error of a tool in Python without the stack of agent-host', async () => {
    const python = agent('one').replace('sum.ts', 'greet.py')
    const { dir } = await makeProject({
      'tools/greet.py': 'def greet(name: str) -> str:\n    return name\n',
      'agents/one.yml': python,
    })
    const { exitCode, stderr } = await runCli(['tool', 'greet'], { cwd: dir })
    expect([exitCode, stderr]).deep.equal([
      1,
      "Error: TypeError: Wrong arguments for 'greet': missing a required argument: 'name'.\n",
    ])
  })

  it('asks the module that decides which calls need an approval', async () => {
    const { dir } = await makeProject({
      ...FILES,
      'agents/one.yml': `id: one
modules:
  - { id: llm, module: llm/auto }
  - { id: limits, module: limits }
  - { id: tools, module: tools/local, config: { files: [tools/sum.ts], approval: limits } }
  - { id: loop, module: orchestrator/tool-loop }
`,
      'modules/limits.ts': `import { ApprovalPolicy, defineModule } from 'agent-host'
export default defineModule({ name: 'Limits', provides: [ApprovalPolicy], create: () => ({
  ruleFor: (_, { a }) => a > 100 ? { deny: 'Too much.' } : a > 10 ? 'always' : 'never' }) })`,
    })
    expect((await callCli(['tool', 'sum', '{"a": 1, "b": 2}'], { cwd: dir })).stdout).equal('{"sum":3}\n')
    expect((await callCli(['tool', 'sum', '{"a": 11, "b": 2}'], { cwd: dir })).stderr).include('waits for an approval')
    expect((await callCli(['tool', 'sum', '{"a": 101, "b": 2}'], { cwd: dir })).stderr).include('Reason: Too much.')
  })

  it('does not execute a tool that needs an approval', async () => {
    const refund = TOOLS.replace('execute(', 'needsApproval: true, execute(')
    const { dir } = await makeProject({ ...FILES, 'tools/sum.ts': refund })
    const { exitCode, stdout, stderr } = await callCli(['tool', 'sum', '{"a": 1, "b": 2}'], { cwd: dir })
    expect([exitCode, stdout]).deep.equal([1, ''])
    expect(stderr).equal(
      "Error: The tool 'sum' waits for an approval or an answer, which this command cannot give. Ask its agent: agent-host chat one\n",
    )
    expect((await callCli(['runs', '--status', 'waiting'], { cwd: dir })).stdout).equal('No matching runs.\n')
    expect((await callCli(['runs'], { cwd: dir })).stdout).contain(' cancelled ')
  })

  it('checks arguments as for a model', async () => {
    const { dir } = await makeProject(FILES)
    const { exitCode, stderr } = await callCli(['tool', 'sum', '{"a": "x", "b": 2}'], { cwd: dir })
    expect(exitCode).equal(1)
    expect(stderr).match(/\ba\b.*number/)
  })

  it('explains a wrong call', async () => {
    const { dir, write } = await makeProject(FILES)
    const fail = async (...args: string[]) => {
      const { exitCode, stderr } = await callCli(['tool', ...args], { cwd: dir })
      expect(exitCode).equal(2)
      return stderr
    }
    expect(await fail('smu')).contain("Error: No agent has a tool 'smu'.\n  Did you mean 'sum'?\n  Tools: sum, ")
    expect(await fail('sum', '[1]')).contain('Error: The arguments must be a JSON object: not [1]\n')
    await write('agents/two.yml', agent('two').replace('tools/sum.ts', 'tools/other.ts'))
    await write('tools/other.ts', TOOLS.replace('b: Type.Number()', 'b: Type.String()'))
    expect(await fail('sum', '{}')).equal(
      "Error: Several agents have a tool 'sum'.\n  agent-host tool sum --agent one\n  agent-host tool sum --agent two\n",
    )
  })
})
