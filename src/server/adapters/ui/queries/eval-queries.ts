import { readdir, stat } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { GraphQLError } from 'graphql'
import { messageOf } from '../../../../errors.ts'
import { byCase, compareResults, describeConfidence, findColumn, SAME_SCORE } from '../../../../evals/compare.ts'
import { type CaseOutcome, outcomesOf, summarize } from '../../../../evals/outcomes.ts'
import { CASES_ENDING, EVAL_FOLDER } from '../../../../evals/read-cases.ts'
import { listResults, RESULT_FOLDER, readResult } from '../../../../evals/result-file.ts'
import type { Traces } from '../../../../trace/traces.ts'
import type { EvalResult, EvalResultCase, EvalRun } from '../../../../wire/eval-result.ts'
import type { Viewer } from '../viewer.ts'
import type { AgentSources } from './agent-view.ts'
import { between } from './run-view.ts'

/** Change of a case since the result before, those that matter most first. */
const CHANGES = ['broken', 'worse', 'mended', 'better', 'new', 'same'] as const
type Change = (typeof CHANGES)[number]

const MAX_RESULTS = 500
/** Of a result that the page shows: while it is parsed, nobody else is served. */
const MAX_BYTES = 8 * 1024 * 1024

/** Runs of the project itself have no tenant, nor have its results. Each may be of several agents. */
function seesEvals({ seesContent, tenant = '', agents }: Viewer): boolean {
  return seesContent && tenant === '' && !agents
}

/** The fields of `Query` about results of evals, which are files of the project. */
export function makeEvalQueries({ traces, host: { projectDir }, reads }: AgentSources) {
  const readSummary = keepSummaries(projectDir)
  return {
    evals: async ({ first }: { first: number }, viewer: Viewer) => {
      const count = between('first', first, MAX_RESULTS)
      const isHidden = !seesEvals(viewer)
      return {
        results: async () => (isHidden ? [] : collect((await listResults(projectDir)).slice(0, count), readSummary)),
        case_files: () => (isHidden ? [] : listCaseFiles(projectDir)),
      }
    },

    async eval_result({ file }: { file?: string | null }, viewer: Viewer) {
      if (!seesEvals(viewer)) return null
      const files = await listResults(projectDir)
      const found = file == null ? await findReadable(files, () => true) : files.find((each) => basename(each) === file)
      if (found === undefined) return null
      const { problem } = await readSummary(found)
      if (problem !== null) throw new GraphQLError(problem)
      const read = (path: string) => reads.read(viewer, path, () => readResult(path, MAX_BYTES))
      const result = await read(found)
      const older = files.slice(files.indexOf(found) + 1)
      const earlier = await findReadable(older, ({ name }) => name === result.name)
      const before = earlier === undefined ? undefined : { file: basename(earlier), result: await read(earlier) }
      return viewResult(result, { file: found, before, traces })
    },
  }

  /** The first file that can be read, and that is wanted. */
  async function findReadable(files: readonly string[], isWanted: (summary: Summary) => boolean) {
    for (const file of files) {
      const summary = await readSummary(file)
      if (summary.problem === null && isWanted(summary)) return file
    }
    return undefined
  }
}

/** A result as lists show it; all but the file is null where it cannot be read. */
export interface Summary {
  readonly file: string
  readonly problem: string | null
  readonly name: string | null
  readonly status: string | null
  readonly created_at: number | null
  readonly is_part: boolean
  readonly columns: readonly { readonly name: string; readonly score: number | null }[]
}

/** Reads each file again only where it has changed. */
function keepSummaries(projectDir: string): (path: string) => Promise<Summary> {
  const known = new Map<string, { readonly state: string; readonly summary: Promise<Summary> }>()
  return async (path) => {
    const { mtimeMs, size } = await stat(path).catch(() => ({ mtimeMs: 0, size: -1 }))
    const state = `${mtimeMs} ${size}`
    const kept = known.get(path)
    if (kept?.state === state) return kept.summary
    const summary = summarizeFile(path, projectDir)
    known.set(path, { state, summary })
    return summary
  }
}

async function summarizeFile(path: string, projectDir: string): Promise<Summary> {
  const file = basename(path)
  try {
    const result = await readResult(path, MAX_BYTES)
    const { name, status, created_at, request } = result
    const is_part = request.filter.length > 0 || request.only !== undefined
    const columns = result.columns.map((column, index) => {
      return { name: column.name, score: summarize(outcomesOf(result, index)).score }
    })
    return { file, problem: null, name, status, created_at, is_part, columns }
  } catch (error) {
    const problem = messageOf(error).replaceAll(projectDir + sep, '')
    return { file, problem, name: null, status: null, created_at: null, is_part: false, columns: [] }
  }
}

async function collect<T, U>(values: readonly T[], convert: (value: T) => Promise<U>): Promise<U[]> {
  const converted: U[] = []
  for (const value of values) converted.push(await convert(value))
  return converted
}

/** Files of cases, relative to the project. */
async function listCaseFiles(projectDir: string): Promise<string[]> {
  const names = await readdir(join(projectDir, EVAL_FOLDER)).catch(() => [])
  return names
    .filter((name) => name.endsWith(CASES_ENDING))
    .sort()
    .map((name) => `${EVAL_FOLDER}/${name}`)
}

interface Context {
  readonly file: string
  /** The one of the same name before it. */
  readonly before: { readonly file: string; readonly result: EvalResult } | undefined
  readonly traces: Traces | undefined
}

/** A result in GraphQL, beside the one before it. */
function viewResult(result: EvalResult, { file, before, traces }: Context) {
  const columns = result.columns.map((_, index) => toColumn(result, index, before?.result))
  return {
    ...result,
    file: basename(file),
    path: `${RESULT_FOLDER}/${basename(file)}`,
    before: before ? { file: before.file, created_at: before.result.created_at } : null,
    columns: () => viewColumns(result, before?.result),
    cases: ({ id }: { id?: string | null }) =>
      result.cases
        .filter((each) => id == null || each.id === id)
        .map((row) => viewCase(row, columns, traces))
        .sort((one, other) => one.rank - other.rank),
  }
}

function viewColumns(result: EvalResult, before: EvalResult | undefined) {
  const comparisons = before ? compareResults(before, result) : []
  return result.columns.map(({ name, agent, version }, index) => {
    const comparison = comparisons.find(({ after }) => after === name)
    return {
      name,
      agent,
      version,
      ...summarize(outcomesOf(result, index)),
      difference: comparison?.difference ?? null,
      confidence: comparison ? describeConfidence(comparison) : null,
    }
  })
}

/** Outcomes of an agent or variant, beside those of the result before. */
function toColumn(result: EvalResult, index: number, earlier: EvalResult | undefined) {
  const earlierIndex = earlier && findColumn(earlier, result, index)
  return {
    now: byCase(outcomesOf(result, index)),
    before: byCase(earlier && earlierIndex !== undefined ? outcomesOf(earlier, earlierIndex) : []),
  }
}

function viewCase(row: EvalResultCase, columns: readonly ReturnType<typeof toColumn>[], traces: Traces | undefined) {
  const cells = columns.map(({ now, before }) => viewCell(now.get(row.id), before.get(row.id), traces))
  const rank = Math.min(...cells.map((cell) => (cell ? rankOf(cell) : CHANGES.length + 1)))
  return { ...row, cells, rank }
}

/** Place of a cell among the others: changes first, then what fails. */
function rankOf({ change, passes }: { readonly change: Change; readonly passes: boolean | null }): number {
  return change === 'same' && passes !== false ? CHANGES.length : CHANGES.indexOf(change)
}

function viewCell(now: CaseOutcome | undefined, before: CaseOutcome | undefined, traces: Traces | undefined) {
  if (!now) return null
  const viewRuns = (runs: readonly EvalRun[] = []) => runs.map((run) => viewRun(run, traces))
  return {
    score: now.score,
    passes: now.passes,
    score_before: before?.score ?? null,
    change: changeOf(now, before),
    runs: () => viewRuns(now.runs),
    runs_before: () => viewRuns(before?.runs),
  }
}

function changeOf(now: CaseOutcome, before: CaseOutcome | undefined): Change {
  if (!before) return 'new'
  if (before.passes === true && now.passes === false) return 'broken'
  if (before.passes === false && now.passes === true) return 'mended'
  const difference = (now.score ?? 0) - (before.score ?? 0)
  if (now.score === null || before.score === null || Math.abs(difference) <= SAME_SCORE) return 'same'
  return difference < 0 ? 'worse' : 'better'
}

/** A run of a case; its id is null where it has no trace. */
function viewRun(run: EvalRun, traces: Traces | undefined) {
  return {
    ...run,
    run_id: async () => (run.run_id !== null && (await traces?.query('run', run.run_id)) ? run.run_id : null),
  }
}
