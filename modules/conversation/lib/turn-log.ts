import { createHash } from 'node:crypto'
import type { Message, Run, Storage } from 'agent-host'
import { readTurns, type Turns, writeTurn } from './turn.ts'

const PAGE = 200

/** The turns of one conversation in the storage of the module: the same on all servers that share it. */
export class TurnLog implements Turns {
  readonly #storage: Storage
  readonly #log: string
  readonly #shown: number

  /**
   * @param key whose conversation it is; the name of the log does not show it
   * @param shown number of turns that are read, the latest
   */
  constructor(storage: Storage, key: string, shown: number) {
    this.#storage = storage
    this.#log = `turns/${createHash('sha256').update(key).digest('hex')}`
    this.#shown = shown
  }

  async read(run: Run): Promise<Message[][]> {
    const latest = await this.#storage.list({ prefix: `${this.#log}/`, order: 'desc', limit: this.#shown }, run)
    return readTurns(latest.map(({ value }) => value).reverse())
  }

  async append(turn: readonly Message[], replaces: boolean, run: Run): Promise<void> {
    await this.#storage.append(this.#log, JSON.parse(writeTurn(turn, replaces)), run)
  }

  async remove(run: Run): Promise<void> {
    for (let count = PAGE; count === PAGE; ) {
      const page = await this.#storage.list({ prefix: `${this.#log}/`, limit: PAGE }, run)
      await Promise.all(page.map(({ key }) => this.#storage.delete(key, run)))
      count = page.length
    }
  }
}
