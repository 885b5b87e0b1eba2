import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../definition/interpolate.ts'
import { FollowedFile } from '../../followed-file.ts'
import type { Log } from '../../protocols/log.ts'
import { WEBHOOKS_FILE, type Webhook } from './webhook.ts'

/** Webhooks of a project as its file is now: nothing more is loaded where there is none. */
export class FollowedWebhooks {
  readonly #file: FollowedFile
  readonly #load: () => Promise<readonly Webhook[]>
  /** The webhooks at this moment. A field: every stored run asks. */
  all: readonly Webhook[] = []
  #onRead = () => {}

  constructor(projectDir: string, log: Pick<Log, 'error'>, environment: Environment = process.env) {
    const path = join(projectDir, WEBHOOKS_FILE)
    this.#load = async () => {
      if (!existsSync(path)) return []
      const { readWebhooks } = await import('./webhooks-file.ts')
      return readWebhooks(projectDir, environment)
    }
    this.#file = new FollowedFile(path, WEBHOOKS_FILE, log, async () => {
      const read = await this.#load()
      if (this.all.length > 0 && !existsSync(path)) throw new Error('The file is gone.')
      this.all = read
      this.#onRead()
    })
  }

  /** See {@link FollowedFile.problem}. */
  get problem(): string | undefined {
    return this.#file.problem
  }

  /**
   * Reads the file, and follows it from now on if it has webhooks.
   *
   * @throws as `readWebhooks`
   */
  async open(): Promise<void> {
    this.all = await this.#load()
    if (this.all.length > 0) await this.#file.follow()
  }

  /** Follows the file from now on. @param onRead called when it was read */
  async follow(onRead: () => void): Promise<void> {
    this.#onRead = onRead
    await this.#file.follow()
  }

  close(): void {
    this.#file.close()
  }
}
