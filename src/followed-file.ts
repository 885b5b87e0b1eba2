import { type StatsListener, unwatchFile, watchFile } from 'node:fs'
import { messageOf } from './errors.ts'
import type { Log } from './protocols/log.ts'

const LOOK_EVERY_MS = 500

/** A file of settings that is read again whenever it changes. One that is gone or wrong changes nothing. */
export class FollowedFile {
  readonly #path: string
  readonly #read: () => Promise<void>
  #reading: Promise<void> = Promise.resolve()
  /** Says why the file is not in use as it stands, without what is in it; undefined when it is. */
  problem: string | undefined
  readonly #listener: StatsListener = () => void this.#readAgain()

  /**
   * @param path absolute
   * @param name in messages
   * @param read throws for a file that cannot be used
   */
  constructor(path: string, name: string, log: Pick<Log, 'error'>, read: () => Promise<void>) {
    this.#path = path
    this.#read = async () => {
      try {
        await read()
        this.problem = undefined
      } catch (error) {
        this.problem = `${name} cannot be used as it is now. Its last good version is in use.`
        log.error(`${this.problem} ${messageOf(error)}`)
      }
    }
  }

  /** Follows the file from now on, and reads it: it may have changed meanwhile. */
  async follow(): Promise<void> {
    this.close()
    // A look, not a notice: mounted files are changed by a link elsewhere, and disks of other machines send none.
    watchFile(this.#path, { interval: LOOK_EVERY_MS, persistent: false }, this.#listener)
    await this.#readAgain()
  }

  close(): void {
    unwatchFile(this.#path, this.#listener)
  }

  /** Reads follow each other: an earlier version must not replace a later one. */
  #readAgain(): Promise<void> {
    this.#reading = this.#reading.then(this.#read)
    return this.#reading
  }
}
