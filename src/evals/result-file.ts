import { existsSync, mkdirSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { decodeText } from '../decode-text.ts'
import { findFirstProblem } from '../definition/first-problem.ts'
import { badOption, badProject, type HostError, messageOf, systemCodeOf } from '../errors.ts'
import { isObject } from '../json.ts'
import { runsHere } from '../process-identity.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { hideSecrets, type Redact } from '../redaction/redact.ts'
import { replaceFile } from '../replace-file.ts'
import { EVAL_RESULT_FORMAT, EvalResult } from '../wire/eval-result.ts'
import { EVAL_FOLDER } from './read-cases.ts'

/** Folder of the results, relative to the project. */
export const RESULT_FOLDER = `${EVAL_FOLDER}/results`
const ENDING = '.json'
const MAX_BYTES = 256 * 1024 * 1024
/** A result that is being filled is written at most this often. */
const SAVE_EVERY_MS = 2000

/** A result with its file. */
export interface FoundResult {
  readonly result: EvalResult
  /** Relative to the project, or absolute. */
  readonly path: string
}

/**
 * Reads a result. A link in the folder of the results leads to another one: it may not leave it.
 *
 * @param maxBytes of the file; default: 256 MiB
 * @throws HostError `PROJECT_INVALID` for one that is not there, too large, damaged, or of another version
 */
export async function readResult(path: string, maxBytes = MAX_BYTES): Promise<EvalResult> {
  const fail = (problem: string, suggestions: readonly string[] = []) =>
    badProject(`The result ${path} ${problem}`, { suggestions })
  const bytes = await readBytes(path, maxBytes).catch((error) => {
    throw fail(`cannot be read: ${messageOf(error)}.`)
  })
  let json: unknown
  try {
    json = JSON.parse(
      decodeText(bytes, path, (message) => {
        throw new Error(message)
      }),
    )
  } catch {
    // The engine's message would show the beginning of whatever file it is.
    throw fail('is not JSON.')
  }
  const version = isObject(json) ? json.eval_result : undefined
  if (version === undefined) throw fail('is no result of an eval.')
  if (version !== EVAL_RESULT_FORMAT) {
    throw fail(`has version ${JSON.stringify(version)}; this agent-host reads version ${EVAL_RESULT_FORMAT}.`, [
      'Run the eval again.',
    ])
  }
  const problem = findFirstProblem(EvalResult, json)
  if (problem) throw fail(`is damaged: ${problem.message}`, ['It was edited, or written by half. Run the eval again.'])
  return json as EvalResult
}

async function readBytes(path: string, maxBytes: number): Promise<Buffer> {
  const folder = dirname(path)
  const isKept = folder.endsWith(join('/', RESULT_FOLDER))
  return readRegularFile(path, { maxBytes, within: isKept ? await realpath(folder) : undefined })
}

/** Files of the results of a project, newest first: their names begin with their time. */
export async function listResults(projectDir: string): Promise<string[]> {
  const folder = join(projectDir, RESULT_FOLDER)
  const names = await readdir(folder).catch((error) => {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  })
  return names
    .filter((name) => name.endsWith(ENDING))
    .sort()
    .reverse()
    .map((name) => join(folder, name))
}

/**
 * Finds a result by its file, or by the beginning of its name in `evals/results`; `latest` is the newest.
 *
 * @param pathOf absolute path of a file named on the command line
 * @param except file that is being filled (absolute): it is no earlier result
 * @throws HostError `OPTION_INVALID` when it means none, or several
 */
export async function findResult(
  word: string,
  projectDir: string,
  pathOf: (file: string) => string,
  except?: string,
): Promise<string> {
  const path = pathOf(word)
  if (existsSync(path)) return path
  const all = (await listResults(projectDir)).filter((file) => file !== except)
  const [newest] = all
  if (word === 'latest' && newest !== undefined) return newest
  const found = all.filter((file) => basename(file).startsWith(word) || basename(file, ENDING).endsWith(`-${word}`))
  const [first, second] = found
  if (first === undefined) {
    throw badOption(`There is no result '${word}': no such file, and none in ${RESULT_FOLDER}.`)
  }
  if (second === undefined || !basename(first).startsWith(word)) return first
  throw badOption(`Several results begin with '${word}'.`, {
    suggestions: found.map((file) => basename(file)),
  })
}

/**
 * The newest result that was stopped. Those that cannot be read, and those of evals under way, are left out.
 *
 * @throws HostError `PROJECT_INVALID` naming the newest of those, when there is no other
 */
export async function findUnfinished(projectDir: string): Promise<FoundResult | undefined> {
  let problem: unknown
  for (const path of await listResults(projectDir)) {
    try {
      const result = await readResult(path)
      if (result.process !== undefined && runsHere(result.process)) problem ??= describeRunning(path, result.process)
      else if (result.status !== 'complete') return { result, path }
    } catch (error) {
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  return undefined
}

function describeRunning(path: string, process: string): HostError {
  const [, pid] = process.split(' ')
  return badProject(`The result ${path} is still being filled, by process ${pid}.`, {
    suggestions: ['Wait for its end, or stop it with Ctrl-C there.'],
  })
}

/** File of a result that is being filled. */
export class ResultFile {
  readonly path: string
  readonly #redact: Redact
  #savedMs = Number.NEGATIVE_INFINITY
  #problem: string | undefined

  private constructor(path: string, redact: Redact) {
    this.path = path
    this.#redact = redact
  }

  /** @param path of a result to go on with */
  static continue(path: string, redact: Redact): ResultFile {
    return new ResultFile(path, redact)
  }

  /** Names the file of a new result by the time: a list of files is then in the order of their creation. */
  static create(projectDir: string, name: string, redact: Redact): ResultFile {
    for (let timeMs = Date.now(); ; timeMs++) {
      const time = new Date(timeMs).toISOString().slice(0, -1).replace(/[:.]/g, '-')
      const path = join(resolve(projectDir), RESULT_FOLDER, `${time}-${name}${ENDING}`)
      if (!existsSync(path)) return new ResultFile(path, redact)
    }
  }

  /** Why the last attempt to write failed; undefined when it did not. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Returns a result as the file has it, without the values of secrets: for what else is shown of it. */
  withoutSecrets(result: EvalResult): EvalResult {
    return JSON.parse(this.#toText(result))
  }

  /** One key a line: side by side, `--token","output"` would read as a flag with its value. */
  #toText(result: EvalResult): string {
    return `${hideSecrets(JSON.stringify(result, null, 1), this.#redact)}\n`
  }

  /** Writes it, unless that was done a moment ago. */
  saveSoon(make: () => EvalResult): void {
    if (performance.now() - this.#savedMs >= SAVE_EVERY_MS) this.save(make())
  }

  /** Writes it. What fails is kept as the {@link problem}: the eval goes on. */
  save(result: EvalResult): void {
    try {
      mkdirSync(dirname(this.path), { recursive: true })
      replaceFile(this.path, this.#toText(result))
      this.#problem = undefined
    } catch (error) {
      this.#problem = messageOf(error)
    }
    this.#savedMs = performance.now()
  }
}
