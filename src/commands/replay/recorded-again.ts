import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { readRegularFileSync } from '../../read-regular-file.ts'
import { replaceFile } from '../../replace-file.ts'
import { fillHead } from '../../tape/file/fill-head.ts'
import { readTape, type Tape } from '../../tape/file/read-tape.ts'
import { TAPE_ENDING } from '../../tape/file/tape-folder.ts'
import { describeDifferences } from '../../tape/replaying/describe-differences.ts'
import { makeSavedTest, pinsOf } from '../../tape/saved-tests/saved-test.ts'

/** The tape of a replay, to put in the place of the one that it replayed. */
export class RecordedAgain {
  readonly #projectDir: string
  readonly #lines: string[] = []

  constructor(projectDir: string) {
    this.#projectDir = projectDir
  }

  readonly add = (line: string, files?: readonly string[]): void => {
    this.#lines.push(files ? fillHead(line, files, this.#projectDir) : line)
  }

  /**
   * Replaces the file of a tape, and the test beside it as `runs save` wrote it.
   *
   * @returns lines that tell what has changed
   */
  async replace(before: Tape, path: string): Promise<string[]> {
    const bytes = gzipSync(`${this.#lines.join('\n')}\n`)
    const now = await readTape(bytes, before.name)
    replaceFile(path, bytes, 0o600)
    const changes = describeDifferences(pinsOf(before), pinsOf(now)).map((line) => `  ${line}`)
    const told = changes.length === 0 ? ['The same calls of tools, the same answer.'] : ['Changed:', ...changes]
    return [`Recorded ${basename(path)} again.`, ...told, ...this.#replaceTest(before, now, path)]
  }

  #replaceTest(before: Tape, now: Tape, path: string): string[] {
    const name = basename(path, TAPE_ENDING)
    const test = join(dirname(path), '..', `${name}.test.ts`)
    const text = readIfThere(test)
    if (text === undefined) return []
    if (text !== makeSavedTest(before, name)) return [`${basename(test)} was edited: change what it expects yourself.`]
    replaceFile(test, makeSavedTest(now, name))
    return [`Updated ${basename(test)}.`]
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readRegularFileSync(path).toString()
  } catch {
    return undefined
  }
}
