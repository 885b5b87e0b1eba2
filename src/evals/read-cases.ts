import { hash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { decodeText } from '../decode-text.ts'
import { findValueProblems } from '../definition/schema-problems.ts'
import { badOption, messageOf } from '../errors.ts'
import { parseJson } from '../json.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { type EvalProblem, type EvalRequest, EvalToolCall } from '../wire/eval-result.ts'

/** Folder of cases, scorers and results, relative to the project. */
export const EVAL_FOLDER = 'evals'
export const CASES_ENDING = '.jsonl'

const Input = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Array(
    Type.Object({
      role: Type.Enum(['system', 'user', 'assistant'], { type: 'string' }),
      content: Type.String(),
    }),
    { minItems: 1 },
  ),
])

/** A row of a file of cases. */
export const CaseRow = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200 }),
  input: Type.Optional(Input),
  expected: Type.Optional(Type.Unknown()),
  expected_tools: Type.Optional(Type.Array(Type.Union([Type.String(), EvalToolCall]))),
  expected_waits: Type.Optional(
    Type.Array(Type.Object({ tool: Type.String(), arguments: EvalToolCall.properties.arguments })),
  ),
  tags: Type.Optional(Type.Array(Type.String())),
  tape: Type.Optional(Type.String({ minLength: 1 })),
  agent: Type.Optional(Type.String({ minLength: 1 })),
  scorers: Type.Optional(Type.Array(Type.String())),
})
export type CaseRow = Static<typeof CaseRow>

/** A case with its place. */
export interface EvalCase extends Omit<CaseRow, 'expected_tools' | 'expected_waits' | 'tags'> {
  /** Relative to the project. */
  readonly file: string
  readonly line: number
  readonly expectedTools: readonly EvalToolCall[] | undefined
  readonly expectedWaits: readonly EvalToolCall[] | undefined
  readonly tags: readonly string[]
  /** Relative to the project; in a row it is relative to its file. */
  readonly tape?: string
  /** Differs where the row does. */
  readonly digest: string
}

export interface ReadCases {
  readonly cases: readonly EvalCase[]
  /** Rows that are none, with file and line. */
  readonly problems: readonly EvalProblem[]
}

/**
 * Finds files of cases.
 *
 * @param paths files and folders (absolute); none for `evals/*.jsonl`
 * @returns absolute, in alphabetical order
 * @throws HostError `OPTION_INVALID` when a path is not there, or holds no cases
 */
export function findCaseFiles(paths: readonly string[], projectDir: string): string[] {
  if (paths.length === 0) {
    const found = listCases(join(projectDir, EVAL_FOLDER))
    if (found.length > 0) return found
    throw badOption('There are no cases: no file evals/*.jsonl.', {
      suggestions: [
        'Save a run as one: agent-host runs save <run id> --case evals/first.jsonl',
        'Or write a row: {"id": "first", "input": "What time is it?", "expected": "..."}',
      ],
    })
  }
  const files = paths.flatMap((path) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats) throw badOption(`There is no file ${path}.`)
    if (!stats.isDirectory()) return [path]
    const found = listCases(path)
    if (found.length === 0) throw badOption(`There are no cases in ${path}: no file *.jsonl.`)
    return found
  })
  return [...new Set(files)]
}

/** Reads the rows of files of cases. A row that is none is a problem, and the others are read. */
export async function readCases(files: readonly string[], projectDir: string): Promise<ReadCases> {
  const cases: EvalCase[] = []
  const problems: EvalProblem[] = []
  const places = new Map<string, string>()
  for (const path of files) {
    const file = relative(projectDir, path).split(sep).join('/')
    for await (const { line, text } of readLines(path, file, problems)) {
      const where = `${file}:${line}`
      try {
        const read = readRow(text, { file, line, folder: dirname(path), projectDir })
        const taken = places.get(read.id)
        if (taken !== undefined) throw new Error(`the id '${read.id}' is taken by ${taken}.`)
        places.set(read.id, where)
        cases.push(read)
      } catch (error) {
        problems.push({ where, message: messageOf(error) })
      }
    }
  }
  return { cases, problems }
}

/** Cases whose id contains one of the words of the filter, or that have one as a tag; no words: all. Of those, the ones of `only`, where it is given. */
export function filterCases(
  cases: readonly EvalCase[],
  { filter, only }: Partial<Pick<EvalRequest, 'only'>> & Pick<EvalRequest, 'filter'>,
): EvalCase[] {
  const ids = only && new Set(only)
  return cases.filter(
    ({ id, tags }) =>
      (ids?.has(id) ?? true) &&
      (filter.length === 0 || filter.some((word) => id.includes(word) || tags.includes(word))),
  )
}

function listCases(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  const names = readdirSync(folder).filter((name) => name.endsWith(CASES_ENDING))
  return names.sort().map((name) => join(folder, name))
}

async function* readLines(
  path: string,
  file: string,
  problems: EvalProblem[],
): AsyncGenerator<{ line: number; text: string }> {
  let text: string
  try {
    const bytes = await readRegularFile(path)
    text = decodeText(bytes, 'the file', (message) => problems.push({ where: file, message }))
  } catch (error) {
    problems.push({ where: file, message: `the file cannot be read: ${messageOf(error)}` })
    return
  }
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() !== '') yield { line: index + 1, text: line }
  }
}

const rowValidator = Compile(CaseRow)

function readRow(
  text: string,
  { file, line, folder, projectDir }: Pick<EvalCase, 'file' | 'line'> & { folder: string; projectDir: string },
): EvalCase {
  const row = parseJson(text)
  // The message of an engine would show the beginning of whatever file it is.
  if (row === undefined) throw new Error('the row is not JSON.')
  const misfits = describeMisfits(row)
  if (misfits !== '' || !rowValidator.Check(row)) throw new Error(misfits)
  const { expected_tools: tools, expected_waits: waits, tags = [], tape, ...rest } = row
  if (rest.input === undefined && tape === undefined) throw new Error('input is missing; a row with a tape needs none.')
  if (tape !== undefined && Array.isArray(rest.input)) {
    throw new Error('with a tape, input is one text: earlier messages come from the tape.')
  }
  return {
    ...rest,
    file,
    line,
    tags,
    expectedTools: tools?.map((tool) => (typeof tool === 'string' ? { name: tool } : tool)),
    expectedWaits: waits?.map(({ tool: name, arguments: args }) => ({ name, ...(args ? { arguments: args } : {}) })),
    ...(tape === undefined ? {} : { tape: relative(projectDir, resolve(folder, tape)).split(sep).join('/') }),
    digest: hash('sha256', JSON.stringify(row)).slice(0, 16),
  }
}

function describeMisfits(row: unknown): string {
  const found = findValueProblems(CaseRow, rowValidator, row, { subject: 'The row' })
  return found.map(({ message, suggestions }) => [message, ...suggestions].join(' ')).join(' ')
}
