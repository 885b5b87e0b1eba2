// Evals: 1,000 offline cases in 10 s of CPU time with level memory, regressions named 20 of 20 times, no tool in 1,000 cases with tapes, scorers of autoevals as they are, a full disk.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { expect } from 'chai'
import { planProject } from '../../src/project/create/plan-project.ts'
import {
  executedTools,
  listResults,
  makeEvals,
  makeTapedEvals,
  PARROT,
  readResult,
  refundAgent,
  runEval,
} from '../support/evals.ts'
import { type CliResult, runCli } from '../support/run-cli.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const CASES = 1000
/** Of CPU time: other work of the machine does not count. */
const LIMIT_SECONDS = 10
const CONCURRENCY = '8'
const ROUNDS = 20
/** Heap that a run may leave behind: its part of the result. */
const MAX_BYTES_OF_RUN = 8 * 1024

const makeTemplate = async (rows: readonly object[]): Promise<TempProject> => {
  const files = await planProject({ name: 'new', llm: 'offline', template: 'tools' })
  const project = await makeProject(Object.fromEntries(files.map(({ path, content }) => [path, String(content)])))
  await project.write('evals/example.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
  return project
}

const QUESTIONS = [
  { input: 'Where is order A-1002?', expected: 'shipped', expected_tools: ['findOrder'] },
  { input: 'What time is it in Tokyo?', expected_tools: ['currentTime'] },
]
const offlineCases = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `case-${index}`, ...QUESTIONS[index % 2] }))

/** Runs an eval with a scorer that measures the heap after a third of the runs and after all, and then the CPU time of the process. */
async function measureEval(project: TempProject): Promise<CliResult & { bytesOfRun: number; cpuSeconds: number }> {
  const first = Math.floor(CASES / 3)
  await project.write(
    'evals/measure.ts',
    `import { writeFileSync } from 'node:fs'
let count = 0
let heap = 0
export const measure = () => {
  count++
  if (count !== ${first} && count !== ${CASES}) return null
  gc()
  const { heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  writeFileSync('measured.json', JSON.stringify({ grown: heapUsed - heap, cpuSeconds: (user + system) / 1e6 }))
  heap = heapUsed
  return null
}
`,
  )
  const env = { NODE_OPTIONS: '--expose-gc' }
  const result = await runCli(['eval', '--concurrency', CONCURRENCY], { cwd: project.dir, env })
  const { grown, cpuSeconds } = JSON.parse(await project.read('measured.json'))
  return { ...result, bytesOfRun: grown / (CASES - first), cpuSeconds }
}

/** A parrot that says some words wrong. */
const forgetful = (words: readonly string[]) =>
  PARROT.replace(
    'respondText(prefix + text)',
    `respondText(prefix + (${JSON.stringify(words)}.includes(text) ? 'what?' : text))`,
  )

describe('evals', function () {
  this.timeout(10 * 60_000)

  it(`run ${CASES} offline cases in ${LIMIT_SECONDS} s of CPU time, and keep nothing of them in memory but the result`, async () => {
    const project = await makeTemplate(offlineCases(CASES))
    const { exitCode, stdout, cpuSeconds, bytesOfRun } = await measureEval(project)
    expect({ exitCode, summary: stdout.split(',')[0] }).deep.equal({
      exitCode: 0,
      summary: `example: ${CASES} of ${CASES} cases passed`,
    })
    expect(cpuSeconds, 'seconds').below(LIMIT_SECONDS)
    expect(bytesOfRun, 'bytes of a run').below(MAX_BYTES_OF_RUN)
  })

  it(`execute no tool in ${CASES} cases with tapes, and keep nothing of them in memory`, async () => {
    const project = await makeTapedEvals({})
    const rows = Array.from({ length: CASES }, (_, index) => ({
      id: `case-${index}`,
      tape: 'tapes/refund.jsonl.gz',
      expected: 'Done.',
    }))
    await project.write('evals/shop.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    await project.write('agents/shop.yml', refundAgent({ said: 'Sorry.' }))
    const executed = executedTools()
    const { exitCode, stdout } = await runEval(project, '--concurrency', CONCURRENCY)
    expect({ exitCode, summary: stdout.split(',')[0] }).deep.equal({
      exitCode: 0,
      summary: `shop: ${CASES} of ${CASES} cases passed`,
    })
    expect(executedTools() - executed).equal(0)
    expect((await measureEval(project)).bytesOfRun, 'bytes of a run').below(MAX_BYTES_OF_RUN)
  })

  it(`name 3 cases of 50 that got worse, and none where nothing did, ${ROUNDS} of ${ROUNDS} times`, async () => {
    const words = Array.from({ length: 50 }, (_, index) => `word-${index}`)
    const project = await makeEvals(words.map((word) => ({ id: word, input: word, expected: `You said: ${word}` })))
    expect(await runEval(project)).include({ exitCode: 0 })
    await project.move(`evals/results/${listResults(project)[0]}`, 'evals/baseline.json')
    for (let round = 0; round < ROUNDS; round++) {
      const wrong = [round, round + 14, round + 28].map((index) => `word-${index}`)
      await project.write('modules/parrot.ts', forgetful(wrong))
      const worse = await runEval(project, '--baseline', 'evals/baseline.json')
      expect({ exitCode: worse.exitCode, stderr: worse.stderr.split('\n')[0] }).deep.equal({
        exitCode: 1,
        stderr: `Passed in the baseline, and fail now: ${wrong.join(', ')}`,
      })
      await project.write('modules/parrot.ts', PARROT)
      expect(await runEval(project, '--baseline', 'evals/baseline.json')).include({ exitCode: 0 })
      const compared = await runEval(project, 'compare', 'evals/baseline.json', 'latest')
      expect(compared.stdout).include('0 wins, 0 losses, 50 ties').and.include('Every case has the same score.')
    }
  })

  it('take scorers of autoevals as they are', async () => {
    const rows = [
      { id: 'text', input: 'kitten', expected: 'sitting', scorers: ['Levenshtein', 'ExactMatch'] },
      { id: 'same', input: 'yes', expected: 'yes', scorers: ['Levenshtein', 'ExactMatch'] },
      { id: 'json', input: '{"a": 1, "b": 2}', expected: { a: 1, b: 3 }, scorers: ['JSONDiff'] },
      { id: 'empty', input: 'x', scorers: ['Levenshtein'] },
    ]
    const project = await makeEvals(rows, {
      'agents/parrot.yml': 'id: parrot\nmodules: [{ id: main, module: parrot, config: { prefix: "" } }]',
      'evals/scorers.ts': "export { ExactMatch, JSONDiff, Levenshtein } from 'autoevals'\n",
    })
    // As docs/evals.md has it.
    execFileSync('npm', ['install', '--save-dev', '--no-audit', '--no-fund', 'autoevals@0.3'], { cwd: project.dir })
    const { exitCode } = await runCli(['eval'], { cwd: project.dir })
    expect(exitCode).equal(1)
    expect(readResult(project).runs.map(({ scores }) => scores)).deep.equal([
      [
        { name: 'Levenshtein', score: 4 / 7 },
        { name: 'ExactMatch', score: 0 },
      ],
      [
        { name: 'Levenshtein', score: 1 },
        { name: 'ExactMatch', score: 1 },
      ],
      [{ name: 'JSONDiff', score: 0.9 }],
      [{ name: 'Levenshtein', score: null, error: 'LevenshteinScorer requires an expected value' }],
    ])
  })

  itOnSmallDisk('tell of a full disk, and print the scores', async (mountSmall) => {
    const project = await makeEvals(offlineCases(50).map(({ id }) => ({ id, input: id, expected: `You said: ${id}` })))
    mountSmall(project.path('evals/results'))
    const { exitCode, stdout, stderr } = await runCli(['eval'], { cwd: project.dir })
    expect({ exitCode, stdout: stdout.split(',')[0] }).deep.equal({
      exitCode: 1,
      stdout: 'parrot: 50 of 50 cases passed',
    })
    expect(stderr).match(/^The result could not be written: ENOSPC/m)
    expect(listResults(project)).deep.equal([])
  })
})

/** A test on a file system with room for one page. Needs the right to mount one. */
function itOnSmallDisk(title: string, test: (mountSmall: (dir: string) => void) => Promise<void>): void {
  if (process.getuid?.() !== 0) {
    it.skip(`${title} (skipped: only root can mount a small disk)`)
    return
  }
  it(title, async () => {
    const mounted: string[] = []
    try {
      await test((dir) => {
        mkdirSync(dir)
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', dir])
        mounted.push(dir)
      })
    } finally {
      for (const dir of mounted) execFileSync('umount', [dir])
    }
  })
}
