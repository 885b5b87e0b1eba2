import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { badOption, badProject, HostError, messageOf } from '../errors.ts'
import { isObject } from '../json.ts'
import { readRegularFileSync } from '../read-regular-file.ts'
import { questionOf } from '../tape/file/question-of.ts'
import { lastRunOf, type Tape } from '../tape/file/read-tape.ts'
import { nameRun, pinsOf } from '../tape/saved-tests/saved-test.ts'
import { CASES_ENDING, type CaseRow, readCases } from './read-cases.ts'

/** A recorded run as a case. */
export interface SavedCase {
  readonly id: string
  /** Line of a file of cases, without its newline. */
  readonly row: string
  /** File of its tape, relative to the file of cases. */
  readonly tapeFile: string
}

/** The id is the name of a file, too. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/

/**
 * Returns a recorded run as a case that expects its answer and its calls of tools. A failed run has no answer to expect.
 *
 * @param id by default the agent and the beginning of the run's id
 * @throws HostError `OPTION_INVALID` for an id that no file may have; `TAPE_INVALID` for a run that was cancelled
 */
export function toSavedCase(tape: Tape, id = nameRun(tape)): SavedCase {
  if (!ID.test(id)) {
    throw badOption(`The id of a case must be letters, digits, '-', '_' and '.', not '${id}'.`)
  }
  const { tools, answer, end } = pinsOf(tape)
  if (end === 'cancelled') {
    throw new HostError('TAPE_INVALID', 'The run was cancelled: it has no answer that a case could expect.')
  }
  const tapeFile = `tapes/${id}.jsonl.gz`
  const waits = waitsOf(tape)
  const input = questionOf(tape)
  const row: CaseRow = {
    id,
    // A run may have been asked with a picture and no text: the case then takes its question from the tape.
    ...(input === '' ? {} : { input }),
    ...(end === 'failed' || (end === 'waiting' && answer === '') ? {} : { expected: answer }),
    expected_tools: tools.map(({ name, arguments: args }) => ({ name: String(name), arguments: Object(args) })),
    ...(waits.length === 0 ? {} : { expected_waits: waits }),
    tape: tapeFile,
  }
  return { id, row: JSON.stringify(row), tapeFile }
}

/**
 * Returns what a file of cases gets at its end for one case more.
 *
 * @param file relative to the project
 * @throws HostError `OPTION_INVALID` for a file that is none of cases, `PROJECT_INVALID` for one that has a case of this id, or that
 *   the row would not fit into
 */
export async function planRow({ id, row }: SavedCase, file: string, projectDir: string): Promise<string> {
  if (!file.endsWith(CASES_ENDING)) throw badOption(`--case must be a file *.jsonl, not '${file}'.`)
  const path = resolve(projectDir, file)
  if (!existsSync(path)) return `${row}\n`
  const { cases } = await readCases([path], projectDir)
  const taken = cases.find((each) => each.id === id)
  if (taken) {
    const suggestions = ['Choose another id with --name.']
    throw badProject(`${taken.file}:${taken.line} already has a case '${id}'.`, { suggestions })
  }
  const before = readUtf8(path, file)
  // It may end without a newline.
  return `${before === '' || before.endsWith('\n') ? '' : '\n'}${row}\n`
}

/** Cases are read as UTF-16, too: a row of UTF-8 at its end would be lost. */
function readUtf8(path: string, file: string): string {
  try {
    const bytes = readRegularFileSync(path)
    if (!isUtf8(bytes) || bytes.includes(0)) throw new Error('it is not UTF-8 text')
    return bytes.toString()
  } catch (cause) {
    throw badProject(`${file} cannot be added to: ${messageOf(cause)}.`, { cause })
  }
}

/** Calls that the run waits for. */
function waitsOf(tape: Tape): NonNullable<CaseRow['expected_waits']> {
  const { pending, pendingArguments = [] } = lastRunOf(tape).end
  return pending.map(({ name }, index) => {
    const args = pendingArguments[index]
    return { tool: name, ...(isObject(args) ? { arguments: args } : {}) }
  })
}
