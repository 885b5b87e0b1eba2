import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { validateXML } from 'xmllint-wasm'
import { toJunit } from '../../src/evals/junit.ts'
import type { EvalColumn, EvalResult, EvalRun } from '../../src/wire/eval-result.ts'
import { evalResult, evalRun } from '../support/eval-results.ts'

const column = (name: string): EvalColumn => ({ name, agent: 'a', version: null, changes: [] })
const run = (id: string, rest: Partial<EvalRun>) => evalRun(id, { duration_ms: 1250, cost: null, ...rest })
const failing = (output: string) => ({ output, scores: [{ name: 'exact', score: 0 }], score: 0 })

/** Tests of every outcome, with two variants. */
function makeResult(runs: readonly EvalRun[], problems: EvalResult['problems'] = []): EvalResult {
  const columns = [column('a'), column('a (main.prefix="> ")')]
  return evalResult(runs, { created_at: 1_700_000_000.5, columns, problems })
}

async function problemsOf(report: string): Promise<readonly string[]> {
  const schema = await readFile(new URL('../support/junit.xsd', import.meta.url), 'utf8')
  const { errors } = await validateXML({ xml: [{ fileName: 'report.xml', contents: report }], schema: [schema] })
  return errors.map(({ message }) => message)
}

describe('toJunit', () => {
  it('writes what readers of JUnit expect: each test once, with counts, times and reasons, whatever stands in an answer', async () => {
    const broken: Partial<EvalRun> = { status: 'not_run', error: 'There is no agent.', scores: [], score: 0 }
    const result = makeResult(
      [
        run('good', {}),
        run('good', { column: 1 }),
        run('bad', failing('<a href="x">&amp;\u0000\u001b[31m\ud800 ]]> \n\t😀</a>')),
        run('"quoted" <id> & more', failing('x')),
        run('free', { scores: [], score: null }),
        run('gone', broken),
      ],
      [
        { where: 'evals/x.jsonl:2', message: 'the row is no JSON.' },
        { where: 'evals/scorers.ts', message: "the export 'a' is no scorer." },
        { where: 'evals/scorers.ts', message: "the export 'b' is no scorer." },
      ],
    )
    expect(await problemsOf(toJunit(result))).deep.equal([])
    expect(await problemsOf(toJunit(makeResult([])))).deep.equal([])
    const suites = [...toJunit(result).matchAll(/<testsuite name="([^"]*)" (.*?) time="(.*?)" timestamp="(.*?)"/g)]
    expect(suites.map(([, ...facts]) => facts)).deep.equal([
      ['a', 'tests="5" failures="2" errors="1" skipped="1"', '6.250', '2023-11-14T22:13:20'],
      [
        'a (main.prefix=&quot;&gt; &quot;)',
        'tests="1" failures="0" errors="0" skipped="0"',
        '1.250',
        '2023-11-14T22:13:20',
      ],
      ['not run', 'tests="2" failures="0" errors="2" skipped="0"', '0.000', '2023-11-14T22:13:20'],
    ])
  })
})
