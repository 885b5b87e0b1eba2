import type { EvalResult, EvalRun } from '../wire/eval-result.ts'
import { type CaseOutcome, outcomesOf } from './outcomes.ts'

/**
 * Returns a result as JUnit XML: a suite for each agent and variant, and a test for each case. A row that was left out is an error.
 * Readers know a test by its class and its name, and show the first of several alike: the class is the agent or the variant.
 */
export function toJunit(result: EvalResult): string {
  const suites = result.columns.map(({ name }, column) => toSuite(name, outcomesOf(result, column), result))
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${[...suites, ...toProblems(result)].join('\n')}\n</testsuites>\n`
}

function toSuite(name: string, outcomes: readonly CaseOutcome[], { cases, created_at: createdAt }: EvalResult): string {
  const files = new Map(cases.map(({ id, file }) => [id, file]))
  const tests = outcomes.map((outcome) => toTest(outcome, name, files.get(outcome.caseId) ?? ''))
  const counts = {
    tests: tests.length,
    failures: outcomes.filter((outcome) => kindOf(outcome) === 'failure').length,
    errors: outcomes.filter((outcome) => kindOf(outcome) === 'error').length,
    skipped: outcomes.filter((outcome) => kindOf(outcome) === 'skipped').length,
  }
  return suite(
    name,
    counts,
    outcomes.reduce((sum, { runs }) => sum + secondsOf(runs), 0),
    createdAt,
    tests,
  )
}

function toProblems({ problems, created_at: createdAt }: EvalResult): string[] {
  const places = [...new Set(problems.map(({ where }) => where))]
  if (places.length === 0) return []
  const tests = places.map((place) => {
    const messages = problems.filter(({ where }) => where === place).map(({ message }) => message)
    const head = `classname="not run" name="${escape(place)}" time="0"`
    return `    <testcase ${head}><error message="${escape(messages.join('\n'))}"/></testcase>`
  })
  return [suite('not run', { tests: tests.length, failures: 0, errors: tests.length, skipped: 0 }, 0, createdAt, tests)]
}

function suite(
  name: string,
  counts: Readonly<Record<string, number>>,
  seconds: number,
  createdAt: number,
  tests: readonly string[],
): string {
  const numbers = Object.entries(counts).map(([key, count]) => `${key}="${count}"`)
  const timestamp = new Date(createdAt * 1000).toISOString().slice(0, 19)
  const head = `name="${escape(name)}" ${numbers.join(' ')} time="${seconds.toFixed(3)}" timestamp="${timestamp}"`
  return [`  <testsuite ${head}>`, ...tests, '  </testsuite>'].join('\n')
}

function toTest(outcome: CaseOutcome, column: string, file: string): string {
  const { caseId, runs } = outcome
  const head = `classname="${escape(column)}" name="${escape(caseId)}" file="${escape(file)}" time="${secondsOf(runs).toFixed(3)}"`
  const kind = kindOf(outcome)
  if (kind === undefined) return `    <testcase ${head}/>`
  if (kind === 'skipped') return `    <testcase ${head}><skipped/></testcase>`
  const reasons = runs.flatMap(describeRun)
  const message = `message="${escape(reasons[0] ?? 'The case fails.')}"`
  return `    <testcase ${head}><${kind} ${message}>${escape(reasons.join('\n'))}</${kind}></testcase>`
}

/** `error`: a run that did not begin. */
function kindOf({ passes, runs }: CaseOutcome): 'error' | 'failure' | 'skipped' | undefined {
  if (runs.some(({ status }) => status === 'not_run')) return 'error'
  if (passes === null) return 'skipped'
  return passes ? undefined : 'failure'
}

/** Everything that is wrong with a run, a line for each thing. */
export function describeRun({ error, scores, output, status }: EvalRun): string[] {
  if (error !== null) return [error]
  const failed = scores.filter((score) => score.error !== undefined || (score.score !== null && score.score < 1))
  const told = failed.map(({ name, score, error: problem, metadata }) => {
    if (problem !== undefined) return `${name} failed: ${problem}`
    return `${name} ${(score ?? 0).toFixed(2)}${metadata ? `: ${reasonOf(metadata)}` : ''}`
  })
  const isOpen = status === 'waiting' && output === ''
  const answer = isOpen ? 'No answer yet: the run waits for a person or the client.' : `Answer: ${output}`
  return told.length === 0 ? [] : [...told, answer]
}

/** A reason in words, where a scorer gives one. */
function reasonOf(metadata: Readonly<Record<string, unknown>>): string {
  return typeof metadata.reason === 'string' ? metadata.reason : JSON.stringify(metadata)
}

function secondsOf(runs: readonly EvalRun[]): number {
  return runs.reduce((sum, { duration_ms: ms }) => sum + ms / 1000, 0)
}

/** XML 1.0 has no place for most control characters, nor for half a character. */
const UNWRITABLE = /[^\P{Cc}\t\n\r]|\p{Cs}|[\ufffe\uffff]/gu
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text that may stand in an element or an attribute. */
function escape(text: string): string {
  const allowed = text.replace(UNWRITABLE, '\ufffd')
  return allowed.replace(/[&<>"\t\n\r]/g, (character) => ENTITIES[character] ?? `&#${character.charCodeAt(0)};`)
}
