import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { buildServer } from 'agent-host'
import { expect } from 'chai'
import { describeProcess } from '../../src/process-identity.ts'
import { planProject } from '../../src/project/create/plan-project.ts'
import { TEMPLATES, type TemplateName } from '../../src/project/create/templates.ts'
import type { RunSummary } from '../../src/trace/run-columns.ts'
import { callCli } from '../support/call-cli.ts'
import {
  executedTools,
  listResults,
  makeEvals,
  makeTapedEvals,
  PARROT,
  parrot,
  readResult,
  refundAgent,
  runEval,
  TAPED_RUN,
} from '../support/evals.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/graphql.ts'
import { itWith } from '../support/it-with.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { openRecordingHost } from '../support/tapes.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'
import { closeTerminals, KEYS, needsTerminal, openTerminal } from '../support/terminal.ts'

const TEMPLATE_NAMES = Object.keys(TEMPLATES) as TemplateName[]

const withoutTime = (text: string) => text.replace(/, [\d.]+ m?s a run/, '')

const BOTH = [
  { id: 'yes', input: 'yes', expected: 'You said: yes' },
  { id: 'no', input: 'no', expected: 'no', tags: ['short'] },
]

describe('eval', () => {
  it('says of a failed case that its run waits', async () => {
    const replies = '[{ tool_calls: [{ name: sum, arguments: { a: 1 } }] }]'
    const project = await makeEvals([{ id: 'sum', input: 'Add.', expected: '3' }], {
      'agents/parrot.yml': `id: parrot
modules:
  - { id: llm, module: llm/mock, config: { replies: ${replies} } }
  - { id: tools, module: tools/local, config: { files: [tools/sum.ts], approval: always } }
  - { id: loop, module: orchestrator/tool-loop }
`,
      'tools/sum.ts': `import { defineTool, Type } from 'agent-host'
export const sum = defineTool({ description: 'Adds.', parameters: Type.Object({ a: Type.Number() }), execute: () => 3 })`,
    })
    expect((await runEval(project)).stdout).contain('\n    No answer yet: the run waits for a person or the client.\n')
  })

  it('scores every case, shows the failed ones with their reasons, and writes a result', async () => {
    const project = await makeEvals(BOTH)
    const { exitCode, stdout, stderr } = await runEval(project)
    expect({ exitCode, stdout: withoutTime(stdout) }).deep.equal({
      exitCode: 0,
      stdout: [
        '  failed  no  0.00',
        '    exact 0.00',
        '    Answer: You said: no',
        'parrot: 1 of 2 cases passed, score 0.50',
        '',
      ].join('\n'),
    })
    expect(stderr).match(/^Result: evals\/results\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}-words\.json\n$/)
    const { runs, columns, created_at: _, duration_ms: __, agent_host: ___, cases, ...result } = readResult(project)
    expect(result).deep.equal({
      eval_result: 1,
      name: 'words',
      status: 'complete',
      spent: 0,
      request: { agents: [], variants: [[]], live: [], filter: [], repeat: 1, files: ['evals/words.jsonl'] },
      problems: [],
    })
    expect(columns.map(({ version, ...column }) => ({ ...column, version: version?.length }))).deep.equal([
      { name: 'parrot', agent: 'parrot', changes: [], version: 64 },
    ])
    expect(cases.map(({ digest, ...row }) => ({ ...row, digest: digest.length }))[1]).deep.equal({
      id: 'no',
      file: 'evals/words.jsonl',
      line: 2,
      input: 'no',
      expected: 'no',
      tags: ['short'],
      tape: null,
      digest: 16,
    })
    expect(runs.map(({ run_id, duration_ms, ...run }) => ({ ...run, run_id: run_id?.length }))[0]).deep.equal({
      case: 'yes',
      column: 0,
      repeat: 1,
      run_id: 36,
      status: 'completed',
      output: 'You said: yes',
      error: null,
      tools: [],
      is_played: false,
      input_tokens: 0,
      output_tokens: 0,
      cost: 0,
      scores: [
        { name: 'exact', score: 1 },
        { name: 'tools', score: null },
      ],
      score: 1,
    })
  })

  it('names rows that are none by file and line, and runs the others; exits with 1', async () => {
    const project = await makeEvals([
      BOTH[0] ?? '',
      'nope',
      { id: 'yes', input: 'again' },
      { id: 'typo', inptu: 'x' },
      { id: 'none' },
      { id: 'scorer', input: 'x', scorers: ['exakt'] },
    ])
    const { exitCode, stdout } = await runEval(project)
    expect({ exitCode, lines: stdout.split('\n').slice(0, 5) }).deep.equal({
      exitCode: 1,
      lines: [
        'evals/words.jsonl:2: the row is not JSON.',
        "evals/words.jsonl:3: the id 'yes' is taken by evals/words.jsonl:1.",
        "evals/words.jsonl:4: The key 'inptu' is not known. Did you mean 'input'?",
        'evals/words.jsonl:5: input is missing; a row with a tape needs none.',
        "evals/words.jsonl:6: there is no scorer 'exakt'. Did you mean 'exact'?",
      ],
    })
    expect(stdout).include('parrot: 1 of 1 case passed')
  })

  it('exits with 2 where nothing could be run: no cases, no such file, no match, only bad rows, a broken agent', async () => {
    const project = await makeEvals(['nope'])
    expect(await runEval(project)).include({ exitCode: 2, stderr: 'Nothing could be run.\n' })
    const gone = await runEval(project, 'evals/gone.jsonl')
    expect(gone.exitCode).equal(2)
    expect(gone.stderr).match(/^Error: There is no file .*evals\/gone\.jsonl\.\n$/)
    await project.write('evals/words.jsonl', '\n')
    expect(await runEval(project)).include({
      exitCode: 2,
      stderr: 'Error: There are no cases in evals/words.jsonl: a case is a line of JSON.\n',
    })
    await project.write('evals/words.jsonl', JSON.stringify(BOTH[0]))
    expect((await runEval(project, '--filter', 'zz')).stderr).equal("Error: No case has 'zz' in its id or as a tag.\n")
    await project.write('agents/parrot.yml', parrot().replace('parrot }', 'parot }'))
    const broken = await runEval(project)
    expect(broken.exitCode).equal(2)
    expect(broken.stdout).include("There is no agent 'parrot'").and.include('agents/parrot.yml:3')
    expect(project.exists('evals/results')).equal(false)
    await project.remove('evals/words.jsonl')
    expect((await runEval(project)).stderr).match(/^Error: There are no cases: no file evals\/\*\.jsonl\./)
  })

  it('runs the cases that failed in the latest result alone with --last-failed', async () => {
    const project = await makeEvals([...BOTH, { id: 'maybe', input: 'maybe', expected: 'perhaps' }])
    const none = await runEval(project, '--last-failed')
    expect(none).include({ exitCode: 2 })
    expect(none.stderr).match(/^Error: There is no result in evals\/results .*\n.*Run agent-host eval first\./)
    await runEval(project)
    expect((await runEval(project, '--last-failed', '--filter', 'zz')).stderr).equal(
      "Error: No case that failed in the latest result is in evals/words.jsonl, and has 'zz' in its id or as a tag.\n",
    )
    const both = await runEval(project, '--last-failed')
    expect(withoutTime(both.stdout)).include('parrot: 0 of 2 cases passed')
    expect(readResult(project).request.only).deep.equal(['no', 'maybe'])
    await project.write(
      'evals/words.jsonl',
      [...BOTH, { id: 'maybe', input: 'maybe', expected: 'You said: maybe' }]
        .map((row) => JSON.stringify(row))
        .join('\n'),
    )
    expect(withoutTime((await runEval(project, '--last-failed')).stdout)).include('parrot: 1 of 2 cases passed')
    // The case failed with the agent, and passes with the variant.
    expect((await runEval(project, '--last-failed', '--set', 'main.prefix=')).stdout).match(/: 1 of 1 cases? passed/)
    const resumed = await runEval(project, '--resume', '--last-failed')
    expect(resumed.stderr).match(/--last-failed cannot be given with --resume/)
    await runEval(project, '--filter', 'yes')
    const passed = await runEval(project, '--last-failed')
    expect(passed.exitCode).equal(2)
    expect(passed.stderr).match(/^Error: No case failed in evals\/results\/.*\.json: there is none to run again\./)
  })

  it('runs other agents and variants side by side; a broken one does not keep the others from running', async () => {
    const project = await makeEvals([BOTH[0] ?? ''], {
      'agents/other.yml': parrot('other'),
      'agents/bad.yml': 'id: bad\n',
    })
    const missing = await runEval(project)
    expect(missing.exitCode).equal(2)
    expect(missing.stdout).match(/^evals\/words\.jsonl:1: name the agent, with "agent" in the row or --agent/)
    const args = ['--agent', 'parrot', '--agent', 'other', '--agent', 'bad']
    const { exitCode, stdout } = await runEval(project, ...args, '--set', 'main.prefix=> ')
    expect(exitCode).equal(1)
    expect(
      stdout
        .split('\n')
        .filter((line) => line.includes('passed'))
        .map(withoutTime),
    ).deep.equal([
      'parrot: 1 of 1 case passed, score 1.00',
      'parrot (main.prefix: >): 0 of 1 case passed, score 0.00',
      'other: 1 of 1 case passed, score 1.00',
      'other (main.prefix: >): 0 of 1 case passed, score 0.00',
      'bad: 0 of 1 case passed, score 0.00, 1 run did not begin',
      'bad (main.prefix: >): 0 of 1 case passed, score 0.00, 1 run did not begin',
    ])
    expect(stdout).match(/^bad: .*, 1 run did not begin$/m)
    const long = 'Please say after me what I am about to say: '
    const alike = await runEval(
      project,
      '--agent',
      'parrot',
      '--set',
      `main.prefix=${long}1`,
      '--set',
      `main.prefix=${long}2`,
    )
    expect(alike.stdout.match(/^parrot \(.*\).*: 0 of 1/gm)).deep.equal([
      'parrot (main.prefix: Please say after me what I am about to say: 1): 0 of 1',
      'parrot (main.prefix: Please say after me what I am about to say: 2): 0 of 1',
    ])
    const refused = await runEval(project, '--agent', 'parrot', '--set', 'main.prefx=x')
    expect(refused.exitCode).equal(1)
    expect(refused.stdout).include('may not be changed').and.include('prefix')
  })

  it('names a variant by what differs from a text that stands in a file of its own', async () => {
    const project = await makeEvals([BOTH[0] ?? ''], {
      'agents/parrot.yml': `${parrot().trimEnd().slice(0, -1)}, config: { prefix: { file: prompts/said.md } } }\n`,
      'prompts/said.md': 'You said: \n',
    })
    const { stdout } = await runEval(project, '--set', 'main.prefix=You sang: ')
    expect(stdout).contain('parrot (main.prefix: said: → sang:): 0 of 1 case passed')
  })

  it('takes scorers from evals/*.ts, where one that is broken hurts its own score alone', async () => {
    const project = await makeEvals([{ id: 'yes', input: 'yes', expected: 'you said: YES' }], {
      'evals/scorers.ts': `import { scorers } from 'agent-host'
export const { contains } = scorers
export const short = ({ output }) => ({ name: 'short', score: output.length < 20 ? 1 : 0, metadata: { length: output.length } })
export const throwing = () => { throw new Error('no luck') }
export const seven = () => 7
export const high = () => ({ name: 'high', score: 7 })
export const nothing = () => undefined
export const notMine = () => null
export const left = undefined
export const text = 'x'`,
      'evals/broken.ts': 'export const = 1',
    })
    const { exitCode, stdout } = await runEval(project)
    expect(exitCode).equal(1)
    expect(stdout.split('\n').slice(0, 2)).deep.equal([
      'evals/broken.ts: evals/broken.ts:1:14: Expected identifier but found "="',
      "evals/scorers.ts: the export 'text' is no scorer: it is no function.",
    ])
    const returns = 'A scorer returns { name, score } with a score from 0 to 1, or null.'
    expect(readResult(project).runs[0]?.scores).deep.equal([
      { name: 'contains', score: 1 },
      { name: 'high', score: null, error: `It returned 7. ${returns}` },
      { name: 'notMine', score: null },
      { name: 'nothing', score: null, error: `It returned nothing. ${returns}` },
      { name: 'seven', score: null, error: `It returned 7. ${returns}` },
      { name: 'short', score: 1, metadata: { length: 13 } },
      { name: 'throwing', score: null, error: 'no luck' },
    ])
    expect(readResult(project).runs[0]?.score).equal(2 / 6)
    expect(stdout.trimEnd().split('\n').at(-1)).equal(
      '  contains 1.00, high 0.00, nothing 0.00, seven 0.00, short 1.00, throwing 0.00',
    )
  })

  it('a failed run counts as 0, and its error is the reason', async () => {
    const project = await makeEvals([{ id: 'bad', input: 'fail', expected: 'x' }])
    const { exitCode, stdout } = await runEval(project)
    expect({ exitCode, stdout: stdout.split('\n').slice(0, 2) }).deep.equal({
      exitCode: 0,
      stdout: ['  failed  bad  0.00', '    no such word'],
    })
  })

  it('exits with 1 below --min, and when a case fails that passed in the baseline, naming it', async () => {
    const project = await makeEvals([...BOTH, { id: 'well', input: 'well', expected: 'You said: well' }])
    expect(await runEval(project, '--min', '0.6')).include({ exitCode: 0 })
    const below = await runEval(project, '--min', '0.7')
    expect(below.exitCode).equal(1)
    expect(below.stderr).match(/^parrot: score 0\.67 is below 0\.7\.$/m)
    expect((await runEval(project, '--min', '7')).stderr).equal("Error: --min must be from 0 to 1, not '7'.\n")
    await project.move(`evals/results/${listResults(project)[0]}`, 'evals/baseline.json')
    expect(await runEval(project, '--baseline', 'evals/baseline.json')).include({ exitCode: 0 })
    await project.write('agents/parrot.yml', parrot().replace(' }', ', config: { prefix: "> " } }'))
    const worse = await runEval(project, '--baseline', 'evals/baseline.json')
    expect(worse.exitCode).equal(1)
    expect(worse.stderr.split('\n').slice(0, 3)).deep.equal([
      'Passed in the baseline, and fail now: yes, well',
      '  yes  1.00 → 0.00',
      '  well  1.00 → 0.00',
    ])
    expect(await runEval(project, '--baseline', 'latest')).include({ exitCode: 0 })
    await project.write('agents/parrot.yml', parrot())
    await runEval(project)
    await project.write('agents/parrot.yml', parrot().replace(' }', ', config: { prefix: "> " } }'))
    expect(await runEval(project, '--baseline', 'latest')).include({ exitCode: 1 })
  })

  it('refuses a baseline of another version, that is damaged or not there, before anything runs', async () => {
    const project = await makeEvals(BOTH, {
      'old.json': '{"eval_result": 2}',
      'bad.json': '{"eval_result": 1}',
      'x.json': '{}',
    })
    const errorOf = async (file: string) => {
      const { exitCode, stderr } = await runEval(project, '--baseline', file)
      expect(exitCode).equal(2)
      return stderr.split('\n')[0]?.replace(project.dir, '').replace('/private', '')
    }
    expect(await errorOf('old.json')).equal(
      'Error: The result /old.json has version 2; this agent-host reads version 1.',
    )
    expect(await errorOf('bad.json')).match(/^Error: The result \/bad\.json is damaged: /)
    expect(await errorOf('x.json')).equal('Error: The result /x.json is no result of an eval.')
    expect(await errorOf('gone.json')).match(/^Error: There is no result 'gone\.json'/)
    expect(project.exists('evals/results')).equal(false)
  })

  it('prints the result as JSON, and a JUnit report', async () => {
    const project = await makeEvals([...BOTH, 'nope', { id: 'free', input: '<&"' }])
    const { stdout } = await runEval(project, '--json', '--junit', 'report.xml')
    const { runs, below_min, regressions, result_file } = JSON.parse(stdout)
    expect({ runs: runs.length, below_min, regressions, result_file: result_file.slice(0, 14) }).deep.equal({
      runs: 3,
      below_min: [],
      regressions: [],
      result_file: 'evals/results/',
    })
    const report = (await project.read('report.xml'))
      .replace(/time="[\d.]+"/g, 'time="0"')
      .replace(/timestamp="[^"]+"/g, 'timestamp=""')
    expect(report).equal(
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="parrot" tests="3" failures="1" errors="0" skipped="1" time="0" timestamp="">
    <testcase classname="parrot" name="yes" file="evals/words.jsonl" time="0"/>
    <testcase classname="parrot" name="no" file="evals/words.jsonl" time="0"><failure message="exact 0.00">exact 0.00&#10;Answer: You said: no</failure></testcase>
    <testcase classname="parrot" name="free" file="evals/words.jsonl" time="0"><skipped/></testcase>
  </testsuite>
  <testsuite name="not run" tests="1" failures="0" errors="1" skipped="0" time="0" timestamp="">
    <testcase classname="not run" name="evals/words.jsonl:3" time="0"><error message="the row is not JSON."/></testcase>
  </testsuite>
</testsuites>
`.replaceAll('&apos;', "'"),
    )
  })

  it('shows no secret, neither in the terminal nor in a report', async () => {
    const project = await makeEvals([{ id: 'told', input: 'a-secret&key-4711', expected: 'nothing' }], {
      '.env': 'SHOP_KEY=a-secret&key-4711\n',
    })
    const { stdout } = await runEval(project, '--junit', 'report.xml')
    const { stdout: json } = await runEval(project, '--json')
    expect(stdout).include('Answer: You said: [redacted]')
    const report = await project.read('report.xml')
    expect(report).include('Answer: You said: [redacted]')
    for (const text of [stdout, json, report]) expect(text).not.match(/4711/)
  })

  it('keeps every key of a result whose text ends with the name of a flag', async () => {
    const project = await makeEvals([
      { id: 'flag', input: 'Explain --api-key', expected: 'You said: Explain --api-key' },
    ])
    const { stdout } = await runEval(project, '--json')
    const result = JSON.parse(stdout)
    expect(stdout).to.not.include('[redacted]')
    expect(JSON.parse(await project.read(result.result_file)).runs).to.deep.equal(result.runs)
  })

  it('makes the folder of the JUnit report', async () => {
    const project = await makeEvals(BOTH)
    await runEval(project, '--junit', 'new/folder/report.xml')
    expect(await project.read('new/folder/report.xml')).match(/^<\?xml/)
  })

  it('asks nothing where the JUnit report cannot be written', async () => {
    const project = await makeEvals(BOTH, { 'file.txt': '' })
    for (const place of ['file.txt/report.xml', 'evals']) {
      const { exitCode, stdout, stderr } = await runEval(project, '--junit', place)
      expect({ exitCode, stdout }).deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).match(/^Error: The JUnit report cannot be written: E(NOTDIR|EXIST|ISDIR)/)
    }
    expect(project.exists('evals/results')).equal(false)
  })

  it('reads cases in UTF-16, and names a file that is no text', async () => {
    const project = await makeEvals(BOTH)
    const rows = await project.read('evals/words.jsonl')
    writeFileSync(project.path('evals/words.jsonl'), Buffer.from(`\ufeff${rows}`, 'utf16le'))
    writeFileSync(project.path('evals/other.jsonl'), Buffer.from('{"id":"b","input":"\xe4"}\n', 'latin1'))
    const { stdout, stderr } = await runEval(project)
    expect(stdout + stderr).match(/^parrot: 1 of 3 cases passed/m)
    expect(stdout + stderr).include('evals/other.jsonl: the file is not UTF-8 text. Save it as UTF-8.')
  })

  it('says when the result cannot be written, and prints the scores', async () => {
    const project = await makeEvals(BOTH, { 'evals/results': 'a file in the way' })
    const { exitCode, stdout, stderr } = await runEval(project)
    expect(exitCode).equal(1)
    expect(stdout).include('parrot: 1 of 2 cases passed')
    expect(stderr).match(/^The result could not be written: E(EXIST|NOTDIR)/m)
  })
})

describe('eval with tapes', () => {
  const row = { id: 'refund', input: 'Refund order 7', tape: 'tapes/refund.jsonl.gz', expected: 'Done.' }
  const expected_tools = [{ name: 'refund', arguments: { order: 7 } }]

  it('answers from the tape: no tool is executed, and no model asked', async () => {
    const project = await makeTapedEvals({ ...row, expected_tools })
    const executed = executedTools()
    // A model that would say something else, and a tool that cannot be loaded.
    await project.write('agents/shop.yml', refundAgent({ said: 'Sorry.' }))
    await project.write(
      'modules/shop.ts',
      `${await project.read('modules/shop.ts')}\nif (globalThis.evalLoads) throw new Error('loaded')`,
    )
    const { exitCode, stdout } = await runEval(project, '--repeat', '3')
    expect({ exitCode, stdout: withoutTime(stdout) }).deep.equal({
      exitCode: 0,
      stdout: 'shop: 1 of 1 case passed, score 1.00\n  exact 1.00, tools 1.00\n',
    })
    expect(executedTools()).equal(executed)
    const { runs } = readResult(project)
    expect(runs.map(({ is_played, tools, repeat }) => ({ is_played, tools, repeat }))).deep.equal(
      [1, 2, 3].map((repeat) => ({ is_played: true, tools: expected_tools, repeat })),
    )
  })

  it('asks the model with --live llm, with tools from the tape', async () => {
    const project = await makeTapedEvals({ ...row, expected_tools })
    const executed = executedTools()
    await project.write('agents/shop.yml', refundAgent({ said: 'Sorry.', prompt: 'Be brief.' }))
    const { exitCode } = await runEval(project, '--live', 'llm')
    const [run] = readResult(project).runs
    expect({ exitCode, output: run?.output, tools: run?.tools, is_played: run?.is_played }).deep.equal({
      exitCode: 0,
      output: 'Sorry.',
      tools: expected_tools,
      is_played: false,
    })
    expect(executedTools()).equal(executed)
  })

  it('a call that the tape does not have fails the case, and is named', async () => {
    const project = await makeTapedEvals({ ...row, id: 'other' })
    await project.write('agents/shop.yml', refundAgent({ prompt: 'Be brief.' }))
    const prompt = await runEval(project)
    expect(prompt.exitCode).equal(0)
    expect(prompt.stdout).match(/Call \d+ differs: llm\.generate\(/)
    const [run] = readResult(project).runs
    expect(run?.error?.split('\n').at(-1)).equal('With --live llm the model answers instead of the tape.')
    await project.write('agents/shop.yml', refundAgent({ order: 8 }))
    const executed = executedTools()
    const { stdout } = await runEval(project, '--live', 'llm')
    expect(stdout).include('tools: refund({"order":8})')
    expect(executedTools()).equal(executed)
  })

  it('takes the question from the row where it has another, and from the tape where it has none', async () => {
    const project = await makeTapedEvals({ id: 'recorded', tape: 'tapes/refund.jsonl.gz' })
    await runEval(project)
    expect(readResult(project).runs[0]).include({ status: 'completed', output: 'Done.' })
    await project.write('evals/shop.jsonl', JSON.stringify({ ...row, input: 'Refund it' }))
    await runEval(project)
    expect(readResult(project).runs[0]?.error).include('recorded "Refund order 7", asked "Refund it"')
  })

  it('names a tape that is gone or damaged, and exits with 2 where there is no other case', async () => {
    const project = await makeTapedEvals({ ...row, tape: 'tapes/gone.jsonl.gz' })
    const gone = await runEval(project)
    expect(gone.exitCode).equal(2)
    expect(gone.stdout).match(/^evals\/shop\.jsonl:1: The tape evals\/tapes\/gone\.jsonl\.gz cannot be read: ENOENT/)
    await project.write('evals/shop.jsonl', JSON.stringify({ ...row, tape: 'shop.jsonl' }))
    expect((await runEval(project, '--agent', 'shop')).stdout).include('evals/shop.jsonl is not a tape')
    const missing = { id: 'gone', tape: 'tapes/gone.jsonl.gz', agent: 'shop' }
    await project.write('evals/shop.jsonl', `${JSON.stringify(missing)}\n${JSON.stringify(row)}`)
    const mixed = await runEval(project)
    expect(mixed.exitCode).equal(1)
    expect(mixed.stdout.split('\n')[1]).match(/^ {4}The tape evals\/tapes\/gone\.jsonl\.gz cannot be read: ENOENT/)
    expect(mixed.stdout).include('shop: 1 of 2 cases passed, score 0.50, 1 run did not begin')
  })
})

describe('eval, stopped', () => {
  afterEach(killRunning)

  it('names what keeps the agents from being opened in their cases, and keeps the others', async () => {
    const project = await makeTapedEvals({ id: 'refund', expected: 'Done.', tape: 'tapes/refund.jsonl.gz' })
    await project.write('evals/shop.jsonl', `${await project.read('evals/shop.jsonl')}{"id": "live", "input": "hi"}\n`)
    await project.write('.env', 'AGENT_HOST_STORE=bogus://x\n')
    const { exitCode } = await runEval(project)
    const { runs, status } = readResult(project)
    expect({ exitCode, status, ended: runs.map((run) => run.status) }).deep.equal({
      exitCode: 1,
      status: 'complete',
      ended: ['completed', 'not_run'],
    })
    expect(runs[1]?.error).match(/^--store \(AGENT_HOST_STORE\) must be /)
  })

  it('keeps what is done after Ctrl-C, and goes on with --resume', async () => {
    const rows = Array.from({ length: 6 }, (_, index) => ({
      id: `case-${index}`,
      input: `${index}`,
      expected: `You said: ${index}`,
    }))
    const slow = `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export const slow = async ({ id, signal }) => {
  if (id >= 'case-2' && !existsSync('go')) await setTimeout(60_000, undefined, { signal })
  return { name: 'slow', score: 1 }
}`
    const project = await makeEvals(rows, { 'evals/scorers.ts': slow })
    const running = startCli(['eval', '--concurrency', '2'], { cwd: project.dir })
    const file = await (async () => {
      for (;;) {
        if (project.exists('evals/results')) {
          const [name] = listResults(project).filter((each) => each.endsWith('.json'))
          if (name) return project.path(`evals/results/${name}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })()
    const under = JSON.parse(readFileSync(file, 'utf8'))
    expect(under.status).equal('running')
    expect(under.process).match(/ \d+ \d*$/)
    expect(await running.stop('SIGINT')).equal(130)
    expect(running.output()).match(
      /Stopped: 2 runs kept in evals\/results\/.*\.json\.\n {2}Go on with: agent-host eval --resume\n$/,
    )
    const stopped = readResult(project)
    expect({ status: stopped.status, runs: stopped.runs.map((run) => run.case) }).deep.equal({
      status: 'stopped',
      runs: ['case-0', 'case-1'],
    })
    writeFileSync(project.path('go'), '')
    const other = await runEval(project, '--resume', '--agent', 'parrot')
    expect(other).include({ exitCode: 2 })
    expect(other.stderr).match(/^Error: --agent cannot be given with --resume/)
    expect(await runEval(project, '--resume')).include({ exitCode: 0 })
    const whole = readResult(project)
    expect(listResults(project).length).equal(1)
    expect(whole.status).equal('complete')
    expect(whole.runs.map((run) => run.run_id).slice(0, 2)).deep.equal(stopped.runs.map((run) => run.run_id))
    expect(whole.runs.length).equal(6)
    expect((await runEval(project, '--resume')).stderr).match(/^Error: There is no result to go on with/)
  })
})

describe('eval on a terminal', () => {
  afterEach(closeTerminals)

  it('shows how far it is, with the score and the cost so far, below what is logged', async function () {
    needsTerminal(this)
    const rows = [...BOTH, { id: 'stuck', input: 'stuck', expected: 'x' }]
    const project = await makeEvals(rows, {
      'modules/parrot.ts': PARROT.replace('{ prefix }) =>', '{ prefix }, { log }) =>').replace(
        'if (text',
        "if (text === 'no') log.warn('Nothing to say.')\n    if (text",
      ),
      'evals/scorers.ts': `import { scorers } from 'agent-host'
export const { exact } = scorers
export const stuck = ({ id, signal }) => id !== 'stuck' ? null : new Promise((_, fail) => signal.addEventListener('abort', () => fail(new Error('stopped'))))`,
    })
    const terminal = openTerminal(['eval', '--concurrency', '1'], { cwd: project.dir })
    await terminal.shows(/0 of 3, score -, \$0\.00/)
    await terminal.shows(/^Warning: .*Nothing to say\.$/m)
    await terminal.shows(/2 of 3, score 0\.50, \$0\.00$/)
    terminal.type(KEYS.ctrlC)
    await terminal.shows(/Stopped: 2 runs kept in evals/)
    expect(await terminal.ended).equal(130)
    const again = openTerminal(['eval', '--resume'], { cwd: project.dir })
    await again.shows(/2 of 3, score 0\.50, \$0\.00/)
  })
})

describe('eval --resume', () => {
  /** An eval that was stopped after a number of its cases. */
  async function stopAfter(count: number, project: TempProject, changes: object): Promise<void> {
    await runEval(project)
    const whole = readResult(project)
    const stopped = { ...whole, status: 'stopped', runs: whole.runs.slice(0, count), ...changes }
    await project.write(`evals/results/${listResults(project).sort().at(-1)}`, JSON.stringify(stopped))
  }

  it('runs the cases of an agent again that has changed since: a column has runs of one version', async () => {
    const project = await makeEvals(BOTH)
    await stopAfter(1, project, {})
    const before = readResult(project)
    await project.write('agents/parrot.yml', parrot().replace(' }', ', config: { prefix: "He said: " } }'))
    await runEval(project, '--resume')
    const after = readResult(project)
    expect(after.runs.map(({ output }) => output)).deep.equal(['He said: yes', 'He said: no'])
    expect(after.columns.map(({ version }) => version)).not.deep.equal(before.columns.map(({ version }) => version))
    expect(after).include({ status: 'complete' })
    expect(after.columns).lengthOf(1)
  })

  it('compares with the eval before the one that it goes on with', async () => {
    const project = await makeEvals(BOTH)
    await runEval(project)
    await project.write('agents/parrot.yml', parrot().replace(' }', ', config: { prefix: "> " } }'))
    await stopAfter(1, project, {})
    const { exitCode, stderr } = await runEval(project, '--resume', '--baseline', 'latest')
    expect([exitCode, stderr]).deep.include(1)
    expect(stderr).match(/^Passed in the baseline, and fails now: yes$/m)
  })

  it('runs a case again whose row has changed since, and keeps the others', async () => {
    const project = await makeEvals(BOTH)
    await stopAfter(2, project, {})
    const stopped = readResult(project)
    const [yes, no] = BOTH
    const rows = [yes, { ...no, expected: 'You said: no' }]
    await project.write('evals/words.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    expect(await runEval(project, '--resume')).include({ exitCode: 0 })
    const { runs } = readResult(project)
    expect(runs.map(({ case: id, score }) => [id, score])).deep.equal([
      ['yes', 1],
      ['no', 1],
    ])
    expect(runs.map(({ run_id }, index) => run_id === stopped.runs[index]?.run_id)).deep.equal([true, false])
  })

  it('leaves a result alone that another process fills, and takes it when that has ended', async () => {
    const project = await makeEvals(BOTH)
    await stopAfter(1, project, { status: 'running', process: describeProcess() })
    const { exitCode, stderr } = await runEval(project, '--resume')
    expect(exitCode).equal(2)
    expect(stderr.replace(/\S*\/evals\/results\/\S*/, '<result>')).equal(
      `Error: The result <result> is still being filled, by process ${process.pid}.\n  Wait for its end, or stop it with Ctrl-C there.\n`,
    )
    expect(readResult(project)).include({ status: 'running' })
    const [where] = describeProcess().split(' ')
    await stopAfter(1, project, { status: 'running', process: `${where} 999999999 1` })
    expect(await runEval(project, '--resume')).include({ exitCode: 0 })
    expect(readResult(project)).include({ status: 'complete' }).and.not.have.property('process')
  })

  it('names a result that cannot be read, when there is no other to go on with', async () => {
    const file = 'evals/results/2026-11-23T10-15-00-000-words.json'
    const project = await makeEvals(BOTH, { [file]: '{"eval_result": 2}' })
    const { exitCode, stderr } = await runEval(project, '--resume')
    expect(exitCode).equal(2)
    expect(stderr.replace(/\S*\/evals/, 'evals')).equal(
      `Error: The result ${file} has version 2; this agent-host reads version 1.\n  Run the eval again.\n`,
    )
  })
})

describe('eval compare', () => {
  it('tells what got better and worse between two results, named by file, by the beginning of a name, or latest', async () => {
    const project = await makeEvals(BOTH)
    await runEval(project)
    await project.write('agents/parrot.yml', parrot().replace(' }', ', config: { prefix: "" } }'))
    await runEval(project)
    const [first = ''] = listResults(project)
    const { exitCode, stdout } = await runEval(project, 'compare', `evals/results/${first}`, 'latest')
    expect({ exitCode, stdout }).deep.equal({
      exitCode: 0,
      stdout: [
        'parrot: score 0.50 → 0.50 (+0.00)',
        '  1 win, 1 loss, 0 ties',
        '  This may be noise. With other cases like these, the difference would be from -1.00 to +1.00 (95 %).',
        '  worse   yes  1.00 → 0.00',
        '  better  no  0.00 → 1.00',
        '',
      ].join('\n'),
    })
    const [comparison] = JSON.parse((await runEval(project, 'compare', first.slice(0, 23), 'latest', '--json')).stdout)
    expect(comparison).include({ before: 'parrot', after: 'parrot', ties: 0, mayBeNoise: true })
    const several = await runEval(project, 'compare', first.slice(0, 4), 'latest')
    expect(several.stderr).match(/^Error: Several results begin with '\d{4}'\./)
    expect((await runEval(project, 'compare', 'x', 'latest')).stderr).match(/^Error: There is no result 'x'/)
    await project.write('old.json', '{"eval_result": 2}')
    const old = await runEval(project, 'compare', 'old.json', 'latest')
    expect(old.exitCode).equal(1)
    expect(old.stderr).match(/^Error: The result \S*old\.json has version 2; this agent-host reads version 1\./)
  })
})

describe('the evals of new projects', () => {
  for (const template of TEMPLATE_NAMES) {
    const program = template === 'tools' ? 'Python 3.8' : undefined
    itWith(program, `${template}: three cases pass without a key`, async () => {
      const files = await planProject({ name: 'new', llm: 'offline', template })
      const project = await makeProject(Object.fromEntries(files.map(({ path, content }) => [path, String(content)])))
      const { exitCode, stdout } = await runEval(project)
      expect({ exitCode, summary: withoutTime(stdout.split('\n')[0] ?? '') }).deep.equal({
        exitCode: 0,
        summary: 'example: 3 of 3 cases passed, score 1.00',
      })
    })
  }
})

describe('runs save --case', () => {
  it('adds a run to a file of cases with its tape, and the case passes as it is', async () => {
    const project = await makeTapedEvals({ id: 'first', input: 'x', tape: 'tapes/refund.jsonl.gz' })
    await project.write('evals/shop.jsonl', '{"id": "first", "tape": "tapes/refund.jsonl.gz"}')
    const save = (...args: string[]) =>
      callCli(['runs', 'save', 'evals/tapes/refund.jsonl.gz', '--case', ...args], { cwd: project.dir })
    const { exitCode, stdout } = await save('evals/shop.jsonl')
    expect({ exitCode, stdout: stdout.split('\n').slice(0, 3) }).deep.equal({
      exitCode: 0,
      stdout: [
        "Added case 'shop-aaaa0000' to evals/shop.jsonl",
        'Created evals/tapes/shop-aaaa0000.jsonl.gz',
        'Run it: agent-host eval evals/shop.jsonl',
      ],
    })
    const [, row = ''] = (await project.read('evals/shop.jsonl')).split('\n')
    expect(JSON.parse(row)).deep.equal({
      id: 'shop-aaaa0000',
      input: 'Refund order 7',
      expected: 'Done.',
      expected_tools: [{ name: 'refund', arguments: { order: 7 } }],
      tape: 'tapes/shop-aaaa0000.jsonl.gz',
    })
    expect((await runEval(project)).stdout).include('shop: 1 of 2 cases passed, score 1.00, 1 not judged')
    const again = await save('evals/shop.jsonl')
    expect(again).include({ exitCode: 1 })
    expect(again.stderr).match(/^Error: evals\/shop\.jsonl:2 already has a case 'shop-aaaa0000'\./)
    expect((await save('evals/new.jsonl', '--name', 'refund')).stderr).match(
      /^Error: evals\/tapes\/refund\.jsonl\.gz already exists\./,
    )
    expect(project.exists('evals/new.jsonl')).equal(false)
    expect((await save('evals/new.json')).exitCode).equal(2)
    expect((await save('evals/new.jsonl', '--name', '../x')).exitCode).equal(2)
  })

  it('adds a picture without a text, and names it by the beginning of a long id of its agent', async () => {
    const id = `shop.${'x'.repeat(120)}`
    const agent = `id: ${id}
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [A cat.] } }
  - { id: loop, module: orchestrator/tool-loop }
`
    const project = await makeProject({ 'agents/shop.yml': agent })
    const recording = await openRecordingHost(project.dir)
    await recording.host.register(agent, { file: 'agents/shop.yml' })
    const attachments = [{ mediaType: 'image/png', data: new Uint8Array([1]) }]
    await recording.run(id, [{ role: 'user', content: '', attachments }], { runId: TAPED_RUN })
    await recording.close()
    const save = (...args: string[]) => callCli(['runs', 'save', TAPED_RUN, ...args], { cwd: project.dir })
    const name = `${id.slice(0, 91)}-${TAPED_RUN.slice(0, 8)}`
    expect((await save('--case', 'evals/shop.jsonl')).stdout).include(`Added case '${name}' to evals/shop.jsonl\n`)
    expect(JSON.parse(await project.read('evals/shop.jsonl')))
      .include({ id: name })
      .not.property('input')
    const { exitCode, stdout } = await callCli(['eval'], { cwd: project.dir })
    expect(exitCode).equal(0)
    expect(stdout).include(': 1 of 1 case passed')
    expect((await save()).stdout).include(`Created tests/${name.replace('.', '-')}.test.ts\n`)
  })

  it('adds no row to a file of cases that it would not be read in', async () => {
    const project = await makeTapedEvals({ id: 'first', input: 'x', tape: 'tapes/refund.jsonl.gz' })
    const utf16 = Buffer.from('\ufeff{"id": "first", "tape": "tapes/refund.jsonl.gz"}\n', 'utf16le')
    const tape = ['runs', 'save', 'evals/tapes/refund.jsonl.gz', '--case', 'evals/windows.jsonl']
    for (const [file, reason] of [
      [utf16, 'it is not UTF-8 text'],
      [utf16.subarray(2), 'it is not UTF-8 text'],
      [undefined, 'EISDIR: it is a directory'],
    ] as const) {
      const path = project.path('evals/windows.jsonl')
      if (file) await writeFile(path, file)
      else {
        await rm(path)
        await mkdir(path)
      }
      const { exitCode, stderr } = await callCli(tape, { cwd: project.dir })
      expect([exitCode, stderr]).deep.equal([1, `Error: evals/windows.jsonl cannot be added to: ${reason}.\n`])
      if (file) expect(await readFile(path)).deep.equal(file)
      expect(project.exists('evals/tapes/shop-aaaa0000.jsonl.gz')).equal(false)
    }
  })
})

interface Json {
  readonly runs?: readonly { readonly eval_case: string }[]
}

describe('runs of evals', () => {
  const listed = async (project: TempProject, ...args: string[]) => {
    const { stdout } = await callCli(['runs', '--json', ...args], { cwd: project.dir })
    const runs: RunSummary[] = JSON.parse(stdout).runs
    return runs.map(({ run_id, eval_case, variant, status }) => ({ run_id, eval_case, variant, status }))
  }

  it('are traced with their case, and stay out of the list of runs unless asked for', async () => {
    const project = await makeEvals(BOTH)
    await callCli(['chat', 'parrot', '--once', 'hello'], { cwd: project.dir })
    await runEval(project, '--set', 'main.prefix=> ')
    const runs = await listed(project)
    expect(runs.map((run) => run.eval_case)).deep.equal([null])
    const { runs: made } = readResult(project)
    expect(await listed(project, '--evals')).have.deep.members(
      made.map(({ run_id, case: eval_case, column }) => ({
        run_id,
        eval_case,
        variant: column === 1 ? 'main.prefix: You said: → >' : null,
        status: 'completed',
      })),
    )
    const shown = await callCli(['runs', 'show', made[0]?.run_id ?? ''], { cwd: project.dir })
    expect(shown.stdout).include('You said: yes')
    // In a file with a limit of its own: a large eval pushes no other runs out.
    expect(await project.read('debug/parrot.jsonl'))
      .include('hello')
      .and.not.include('eval_case')
    expect(await project.read('debug/parrot@@evals.jsonl')).include('"eval_case":"yes"')
    expect((await callCli(['runs', '--evals'], { cwd: project.dir })).stdout).include('(case yes) yes')
  })

  it('of a tape have ids of their own, each time', async () => {
    const project = await makeTapedEvals({ id: 'refund', tape: 'tapes/refund.jsonl.gz', expected: 'Done.' })
    await runEval(project, '--repeat', '2')
    const ids = readResult(project).runs.map((run) => run.run_id)
    expect(new Set([...ids, TAPED_RUN]).size).equal(3)
    expect((await listed(project, '--evals')).map((run) => run.run_id).sort()).deep.equal(ids.sort())
    const { stdout } = await callCli(['runs', 'show', ids[0] ?? ''], { cwd: project.dir })
    expect(stdout).include('refund({"order":7})').and.include('refunded 7')
  })

  it('stay out of the lists, metrics and live updates of the debug API unless asked for', async () => {
    const project = await makeEvals(BOTH)
    const { dir: projectDir } = project
    const dirs = { projectDir, agentDir: `${projectDir}/agents`, responsesDir: `${projectDir}/responses` }
    const adapters = ['ChatCompatApiAdapter', 'UiApiAdapter']
    const server = await buildServer({ ...dirs, adapters, debug: true, logLevel: 'silent' })
    const leave = new AbortController()
    try {
      const live = await fetch(`${await server.listen()}/api/ui/live`, { signal: leave.signal })
      await runEval(project)
      await server.app.inject({
        method: 'POST',
        url: '/v1/chat/completions',
        payload: { model: 'parrot', messages: [{ role: 'user', content: 'hello' }] },
      })
      expect(await readUntil(live, /"status":"completed".*"input":"hello"/)).not.include('"eval_case":"')
      await runEval(project)
      await eventually(async () => {
        const { evals } = await ask(server, '{ evals: runs(filter: { evals: true }) { total } }')
        expect(evals).deep.equal({ total: 4 })
      })
      const { runs, evals, metrics, agents } = await ask<Record<'runs' | 'evals' | 'metrics' | 'agents', Json>>(
        server,
        `{ runs(first: 9) { total runs { eval_case input neighbours { previous next } } }
           evals: runs(first: 9, filter: { evals: true }) { total runs { eval_case } }
           agents: list_agents { latest_run { input } }
           metrics(points: 1) { total { count } } }`,
      )
      const hello = { eval_case: null, input: 'hello', neighbours: { previous: null, next: null } }
      expect({ runs, metrics, agents }).deep.equal({
        runs: { total: 1, runs: [hello] },
        metrics: { total: { count: 1 } },
        agents: [{ latest_run: { input: 'hello' } }],
      })
      expect(evals.runs?.map((run) => run.eval_case).sort()).deep.equal(['no', 'no', 'yes', 'yes'])
    } finally {
      leave.abort()
      await server.close()
    }
  })
})

/** Text of a stream up to the first match. */
async function readUntil({ body }: Response, pattern: RegExp): Promise<string> {
  let text = ''
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString()
    if (pattern.test(text)) break
  }
  return text
}
