import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type BuiltServer, buildServer } from '../../../src/server/server.ts'
import { pathOfTape } from '../../../src/tape/file/tape-folder.ts'
import { evalResult, evalRun } from '../../support/eval-results.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, askRaw } from '../../support/graphql.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const ECHO = 'id: echo\nmodules:\n  - { id: echo, module: echo }\n'
const SECRET = 'root:canary'

describe('files that are none, and large ones, in a project whose page is open', () => {
  let project: TempProject
  let server: BuiltServer

  beforeEach(async () => {
    project = await makeProject({ 'agents/echo.yml': ECHO, 'outside.txt': SECRET })
    const { dir: projectDir } = project
    const facts = { projectDir, agentDir: `${projectDir}/agents`, responsesDir: `${projectDir}/responses` }
    server = await buildServer({ ...facts, adapters: ['UiApiAdapter'], debug: true, record: 1, logLevel: 'silent' })
  })

  afterEach(() => server.close())

  async function recordRun(): Promise<{ runId: string; path: string }> {
    const { runId } = await server.host.run('echo', 'hello')
    const path = pathOfTape(project.dir, runId)
    await eventually(() => expect(project.exists(`debug/tapes/${runId}.jsonl.gz`)).equal(true))
    return { runId, path }
  }

  const savedTest = (runId: string, name: string) => `${name}: run(run_id: "${runId}") { saved_test { test } }`

  it('a named pipe as prices.yml leaves the prices of before; a link to a file is read', async () => {
    const cost = async () => (await ask(server, '{ metrics { total { cost } } }')).metrics
    execFileSync('mkfifo', [project.path('prices.yml')])
    await server.host.run('echo', 'hello')
    expect(await cost()).nested.property('total')
    await project.remove('prices.yml')
    await project.write('mounted.yml', 'own: { input: 1, output: 4 }')
    symlinkSync(project.path('mounted.yml'), project.path('prices.yml'))
    expect(await cost()).nested.property('total')
  })

  it('results that are pipes, folders, links out of the folder or large have a problem, which shows nothing of them', async () => {
    const results = (name: string) => project.path(`evals/results/${name}.json`)
    await project.write('evals/results/1-good.json', JSON.stringify(evalResult([evalRun('a')])))
    symlinkSync('1-good.json', results('2-inner'))
    symlinkSync(project.path('outside.txt'), results('3-leaves'))
    execFileSync('mkfifo', [results('4-pipe')])
    mkdirSync(results('5-folder'))
    await project.write('evals/results/6-text.json', SECRET)
    await project.write('evals/results/7-large.json', '')
    truncateSync(results('7-large'), 9 * 1024 * 1024)
    symlinkSync('/dev/zero', results('8-zeros'))
    execFileSync('mkfifo', [project.path('evals/words.jsonl')])
    const { evals } = await ask<{ evals: { results: { file: string; problem: string | null }[] } }>(
      server,
      '{ evals(first: 20) { results { file problem } case_files } }',
    )
    expect(evals.results.map(({ problem }) => problem).reverse()).deep.equal([
      null,
      null,
      'The result evals/results/3-leaves.json cannot be read: a link leads out of its folder.',
      'The result evals/results/4-pipe.json cannot be read: it is not a regular file.',
      'The result evals/results/5-folder.json cannot be read: EISDIR: it is a directory.',
      'The result evals/results/6-text.json is not JSON.',
      'The result evals/results/7-large.json cannot be read: it has more than 8388608 bytes.',
      'The result evals/results/8-zeros.json cannot be read: it is not a regular file.',
    ])
    expect(await ask(server, '{ eval_result { file } }')).deep.equal({ eval_result: { file: '2-inner.json' } })
  })

  it('a pipe, or a link out of the folder, in the place of a tape is none', async () => {
    const { runId, path } = await recordRun()
    const look = async () => {
      const { run } = await ask<{ run: object }>(server, `{ run(run_id: "${runId}") { has_tape saved_test { test } } }`)
      return { ...run, status: (await server.app.inject(`/api/ui/runs/${runId}/tape`)).statusCode }
    }
    for (const make of [
      () => execFileSync('mkfifo', [path]),
      () => symlinkSync(project.path('outside.txt'), path),
      () => mkdirSync(path),
    ]) {
      await project.remove(`debug/tapes/${runId}.jsonl.gz`)
      make()
      expect(await look()).deep.equal({ has_tape: false, saved_test: null, status: 404 })
    }
  })

  it('a query reads a tape once, however often it names it, and ten at most', async () => {
    const runs = []
    for (let count = 0; count < 11; count++) runs.push(await recordRun())
    const [first] = runs
    const aliases = Array.from({ length: 45 }, (_, index) => savedTest(first?.runId ?? '', `a${index}`))
    const same = await ask<Record<string, { saved_test: { test: string } }>>(server, `{ ${aliases.join(' ')} }`)
    expect(new Set(Object.values(same).map((run) => run.saved_test.test)).size).equal(1)
    const different = runs.map(({ runId }, index) => savedTest(runId, `a${index}`))
    const { errors } = await askRaw(server, { query: `{ ${different.join(' ')} }` })
    expect(errors?.map(({ message }) => message)).deep.equal([
      'A query reads 10 large files at most: ask for the others in another one.',
    ])
  })

  it('a large tape is read in pieces, and one that is too large is refused', async () => {
    const { runId, path } = await recordRun()
    const [head, turn, end = '{}'] = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
    const names = { module: 'echo', caller: 'echo', protocol: 'Echo', method: 'echo' }
    const call = JSON.stringify({ type: 'call', call: 1, within: null, ms: 0, ...names, arguments: [] })
    const last = JSON.stringify({ ...JSON.parse(end), calls: 1 })
    const grown = (count: number, characters: number) => {
      const part = `{"type":"part","call":1,"ms":0,"value":"${'x'.repeat(characters)}"}\n`
      return gzipSync(`${head}\n${turn}\n${call}\n${part.repeat(count)}${last}\n`)
    }
    writeFileSync(path, grown(300_000, 50))
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const answer = await askRaw(server, { query: `{ ${savedTest(runId, 'run')} }` })
    clearInterval(timer)
    expect(answer.errors).equal(undefined)
    expect(turns).greaterThan(5)
    writeFileSync(path, grown(7, 10 * 1024 * 1024))
    const { errors } = await askRaw(server, { query: `{ ${savedTest(runId, 'run')} }` })
    expect(errors?.[0]?.message).equal(`The tape ${runId} is too large: it holds more than 64 MB.`)
  })
})
