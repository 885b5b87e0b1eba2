import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { TransactionalAdapter } from '../keyv-record-store.ts'
import type { Change, Guards, KeyRange } from '../record-store.ts'
import type { SqliteAnswer, SqliteJob, SqliteWorkerData } from './sqlite-job.ts'

interface Waiting {
  readonly job: SqliteJob
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

type Message =
  | { readonly ready: true }
  | { readonly early: readonly (SqliteAnswer | undefined)[] }
  | { readonly answers: readonly SqliteAnswer[] }

const WORKER = new URL('./sqlite-worker.js', import.meta.url)

/**
 * A store adapter of Keyv over a SQLite file, in a thread of its own. While the thread is busy, what is asked for waits,
 * and goes to it together: all the writes among it become one transaction.
 */
export class SqliteAdapter extends EventEmitter implements TransactionalAdapter {
  readonly opts: Record<string, unknown> = { dialect: 'sqlite' }
  namespace?: string
  readonly serverId: string
  readonly #worker: Worker
  #waiting: Waiting[] = []
  #asked: readonly Waiting[] | undefined
  #asking: NodeJS.Immediate | undefined
  #failure: Error | undefined
  #onReady: Pick<Waiting, 'resolve' | 'reject'> | undefined

  private constructor(worker: Worker, serverId: string) {
    super()
    this.serverId = serverId
    this.#worker = worker
    worker.on('message', (message: Message) => this.#receive(message))
    worker.on('error', (error) => this.#onWorkerExit(error))
    worker.on('exit', () => this.#onWorkerExit(new Error('the database was closed')))
  }

  /**
   * Opens the file, or makes it, readable by nobody else.
   *
   * @param file absolute path
   * @throws Error of SQLite or the file system
   */
  static async open(file: string): Promise<SqliteAdapter> {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    const serverId = randomUUID()
    const data: SqliteWorkerData = { file, serversDir: join(dirname(file), 'servers'), serverId }
    const adapter = new SqliteAdapter(new Worker(WORKER, { workerData: data }), serverId)
    await new Promise<unknown>((resolve, reject) => {
      adapter.#onReady = { resolve, reject }
    })
    return adapter
  }

  async get<Value>(key: string): Promise<Value | undefined> {
    const [value] = await this.getMany<Value>([key])
    return value
  }

  getMany<Value>(keys: readonly string[]): Promise<(Value | undefined)[]> {
    return this.#ask({ kind: 'get', keys })
  }

  async set(key: string, value: string): Promise<boolean> {
    return this.commit([[key, value]], {})
  }

  async setMany(entries: readonly { readonly key: string; readonly value: string }[]): Promise<void> {
    await this.commit(
      entries.map(({ key, value }): Change => [key, value]),
      {},
    )
  }

  async delete(key: string): Promise<boolean> {
    return this.commit([[key, undefined]], { present: [key] })
  }

  async deleteMany(keys: readonly string[]): Promise<boolean> {
    return this.commit(
      keys.map((key): Change => [key, undefined]),
      {},
    )
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined
  }

  async clear(): Promise<void> {
    await this.#ask({ kind: 'clear' })
  }

  async disconnect(): Promise<void> {
    if (this.#failure) return
    this.#worker.ref()
    await this.#ask({ kind: 'close' })
    await this.#worker.terminate()
  }

  commit(changes: readonly Change[], { present = [], absent = [] }: Guards): Promise<boolean> {
    return this.#ask({
      kind: 'commit',
      changes: changes.flatMap(([key, value]) => [key, value ?? null]),
      present,
      absent: absent.flatMap((prefix) => [prefix, endOf(prefix)]),
    })
  }

  list({ prefix, after, before, order = 'asc', limit }: KeyRange): Promise<string[]> {
    const from = after === undefined || after < prefix ? prefix : `${after}\x01`
    const end = endOf(prefix)
    const to = before === undefined || before > end ? end : before
    return this.#ask({ kind: 'list', from, to, order, limit })
  }

  isServerAlive(serverId: string): Promise<boolean> {
    return this.#ask({ kind: 'is-alive', serverId })
  }

  async purge(): Promise<void> {
    await this.#ask({ kind: 'purge' })
  }

  #ask<T>(job: SqliteJob): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject })
      // Not at once: what else this turn of the event loop asks for goes along.
      if (!this.#asked) this.#asking ??= setImmediate(() => this.#send())
    }) as Promise<T>
  }

  #send(): void {
    this.#asking = undefined
    if (this.#asked || this.#waiting.length === 0) return
    this.#asked = this.#waiting
    this.#waiting = []
    // Only while something is under way does the thread keep the process alive.
    this.#worker.ref()
    this.#worker.postMessage(this.#asked.map(({ job }) => job))
  }

  #receive(message: Message): void {
    if ('ready' in message) {
      this.#worker.unref()
      this.#onReady?.resolve(undefined)
    } else if ('early' in message) settle(this.#asked ?? [], message.early)
    else {
      const asked = this.#asked ?? []
      this.#asked = undefined
      if (this.#waiting.length > 0) this.#send()
      else this.#worker.unref()
      settle(asked, message.answers)
    }
  }

  #onWorkerExit(error: Error): void {
    this.#failure ??= error
    this.#onReady?.reject(error)
    for (const { reject } of [...(this.#asked ?? []), ...this.#waiting]) reject(error)
    this.#asked = undefined
    this.#waiting = []
  }
}

function settle(asked: readonly Waiting[], answers: readonly (SqliteAnswer | undefined)[]): void {
  asked.forEach(({ resolve, reject }, index) => {
    const answer = answers[index]
    if (!answer) return
    if ('value' in answer) resolve(answer.value)
    else reject(Object.assign(new Error(answer.error), { code: answer.code }))
  })
}

/** The first text after all that begin with the prefix: keys are ASCII. */
function endOf(prefix: string): string {
  return `${prefix}\x7f`
}
