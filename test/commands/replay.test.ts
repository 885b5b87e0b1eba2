import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { pathOfTape } from '../../src/tape/file/tape-folder.ts'
import { callCli } from '../support/call-cli.ts'
import { openRecordingHost } from '../support/tapes.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const AGENT = `id: greeter
modules:
  - { id: llm, module: llm/mock, config: { replies: [Hello.] } }
  - { id: loop, module: orchestrator/tool-loop, config: { system_prompt: Be kind. } }
`

const BROKEN = `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Broken', provides: [LLM], create: () => ({
  async *generate() { throw new Error('no network') } }) })`

/** A project in which two runs were recorded. */
async function makeRecorded(): Promise<{ project: TempProject; runId: string }> {
  const project = await makeProject({ 'agents/greeter.yml': AGENT, 'package.json': '{}' })
  const recording = await openRecordingHost(project.dir)
  try {
    await recording.host.register(AGENT, { file: 'agents/greeter.yml' })
    const runId = 'aaaa0000-0000-4000-8000-000000000000'
    await recording.run('greeter', 'hi', { runId })
    await recording.run('greeter', 'ho', { runId: 'aabb0000-0000-4000-8000-000000000000' })
    return { project, runId }
  } finally {
    await recording.close()
  }
}

describe('replay', () => {
  it('prints the answer of a run, named by its first characters or its file', async () => {
    const { project, runId } = await makeRecorded()
    expect(await callCli(['replay', 'aaaa'], { cwd: project.dir })).deep.equal({
      exitCode: 0,
      stdout: 'Hello.\n',
      stderr: `Replayed ${runId}: 1 call on the tape.\n`,
    })
    const byFile = await callCli(['replay', pathOfTape(project.dir, runId)], { cwd: project.dir })
    expect(byFile).include({ exitCode: 0, stdout: 'Hello.\n' })
  })

  it('exits with 1 at the first difference; the agent as it was has none', async () => {
    const { project } = await makeRecorded()
    await project.write('agents/greeter.yml', AGENT.replace('kind', 'brief'))
    const { exitCode, stdout, stderr } = await callCli(['replay', 'aaaa'], { cwd: project.dir })
    expect({ exitCode, stdout }).deep.equal({ exitCode: 1, stdout: '' })
    expect(stderr).match(/^Call 1 differs: llm\.generate\(/)
    expect(stderr).include('request.messages[0].content: recorded "Be kind.", asked "Be brief."')
    expect(await callCli(['replay', 'aaaa', '--as-recorded'], { cwd: project.dir })).include({ exitCode: 0 })
  })

  it('leaves the tape as it was when what --live calls fails', async () => {
    const { project, runId } = await makeRecorded()
    await project.write('modules/broken.js', BROKEN)
    await project.write('agents/greeter.yml', AGENT.replace('llm/mock, config: { replies: [Hello.] }', 'broken'))
    const path = pathOfTape(project.dir, runId)
    const before = readFileSync(path)
    const { exitCode, stderr } = await callCli(['replay', 'aaaa', '--live', 'llm', '--update'], { cwd: project.dir })
    expect(exitCode).equal(1)
    expect(stderr).match(/\nThe tape stays as it was: the run fails now, and did not when it was recorded\.\n$/)
    expect(readFileSync(path).equals(before)).equal(true)
  })

  it('changes values with --set, and refuses those that no variant may change', async () => {
    const { project } = await makeRecorded()
    const brief = await callCli(['replay', 'aaaa', '--set', 'loop.system_prompt=Be brief.'], { cwd: project.dir })
    expect(brief.exitCode).equal(1)
    expect(brief.stderr).include('recorded "Be kind.", asked "Be brief."')
    const live = ['replay', 'aaaa', '--set', 'loop.system_prompt=Be brief.', '--live', 'llm']
    expect(await callCli(live, { cwd: project.dir })).include({ exitCode: 0, stdout: 'Hello.\n' })
    const unknown = await callCli(['replay', 'aaaa', '--set', 'loop.sytem_prompt=x'], { cwd: project.dir })
    expect(unknown).include({ exitCode: 1 })
    expect(
      unknown.stderr,
    ).equal(`Error: module 'loop' (orchestrator/tool-loop), config: sytem_prompt may not be changed by a variant.
  Did you mean 'system_prompt'?
  These may: system_prompt, max_steps, max_repeats. For all others edit the file.
`)
    expect(await callCli(['replay', 'aaaa', '--set', 'x'], { cwd: project.dir })).include({
      exitCode: 2,
      stderr: `Error: --set takes <module>.<path>=<value>, such as orchestrator.system_prompt="Be brief", not 'x'.\n`,
    })
  })

  it('refuses a --set of a secret', async () => {
    const { project } = await makeRecorded()
    const vendor = AGENT.replace(
      'llm/mock, config: { replies: [Hello.] }',
      "llm/openai, config: { model: m, api_key: '${KEY}' }",
    )
    await project.write('agents/greeter.yml', vendor)
    const { exitCode, stderr } = await callCli(['replay', 'aaaa', '--set', 'llm.api_key=mine'], { cwd: project.dir })
    expect(exitCode).equal(1)
    expect(stderr).match(
      /^Error: module 'llm' \(llm\/openai\), config: api_key may not be changed by a variant\.\n {2}These may: model, /,
    )
  })

  it('prints the outcome as JSON', async () => {
    const { project, runId } = await makeRecorded()
    const { stdout } = await callCli(['replay', 'aaaa', '--live', 'llm', '--json'], { cwd: project.dir })
    expect(JSON.parse(stdout)).deep.equal({
      runs: [{ run_id: runId, status: 'completed', text: 'Hello.', error: null, pending: [] }],
      divergence: null,
      changed_files: [],
      live_calls: 1,
    })
  })

  it('refuses an agent that is gone, an unknown run, and a beginning that several have', async () => {
    const { project } = await makeRecorded()
    expect((await callCli(['replay', 'aa'], { cwd: project.dir })).stderr).match(
      /^Error: Several tapes begin with 'aa'\./,
    )
    expect((await callCli(['replay', 'zz'], { cwd: project.dir })).stderr).match(
      /^Error: There is no tape of a run 'zz'/,
    )
    await project.remove('agents/greeter.yml')
    const { exitCode, stderr } = await callCli(['replay', 'aaaa'], { cwd: project.dir })
    expect(exitCode).equal(1)
    expect(stderr).equal(
      "Error: The tape is of agent 'greeter', which the project no longer has.\n  --as-recorded replays the agent as it was.\n",
    )
  })
})
