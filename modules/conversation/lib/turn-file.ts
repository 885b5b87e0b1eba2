import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Message } from 'agent-host'
import { readTurns, type Turns, writeTurn } from './turn.ts'

/**
 * The turns of one conversation in a file, one per line. A turn is written by a single append: whenever the process dies,
 * and however many write at once, it is there whole or not at all.
 */
export class TurnFile implements Turns {
  readonly #path: string

  /** @param key whose conversation it is; the name of the file does not show it */
  constructor(dir: string, key: string) {
    this.#path = join(dir, `${createHash('sha256').update(key).digest('hex')}.jsonl`)
  }

  async read(): Promise<Message[][]> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    return readTurns(text.split('\n').flatMap(parseLine))
  }

  async append(turn: readonly Message[], replaces: boolean): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true })
    // The leading line break ends a line that a full disk may have truncated.
    await appendFile(this.#path, `\n${writeTurn(turn, replaces)}\n`, { flush: true })
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true })
  }
}

/** Returns nothing for a line that is empty or cut off: it was never a turn. */
function parseLine(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}
