import type { Client } from 'pg'

const RECONNECT_MS = 500

export interface TopicListenerOptions {
  /** Makes a connection that is not open yet. */
  readonly connect: () => Client
  readonly channel: string
  /** Own notifications are passed over. */
  readonly serverId: string
  readonly onTopics: (topics: readonly string[]) => void
  /** Calls back when notifications may have been lost. */
  readonly onGap: () => void
}

/** A separate connection that receives commits of other servers, and reconnects by itself. */
export class TopicListener {
  readonly #options: TopicListenerOptions
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: TopicListenerOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const client = this.#options.connect()
    this.#client = client
    client.on('error', () => this.#reconnect(client))
    client.on('end', () => this.#reconnect(client))
    client.on('notification', ({ payload = '' }) => this.#handleNotification(payload))
    await client.connect()
    await client.query(`LISTEN "${this.#options.channel}"`)
  }

  /** Finds out whether the connection still answers. */
  async check(): Promise<void> {
    const client = this.#client
    await client?.query('SELECT 1').catch(() => this.#reconnect(client))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => {})
  }

  #handleNotification(payload: string): void {
    const [sender, ...topics] = payload.split(' ')
    if (sender === this.#options.serverId) return
    if (topics[0] === '*') this.#options.onGap()
    else this.#options.onTopics(topics)
  }

  #reconnect(client: Client): void {
    if (this.#client !== client || this.#isClosed) return
    this.#client = undefined
    client.end().catch(() => {})
    this.#reopenLater()
  }

  #reopenLater(): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#reopen(), RECONNECT_MS)
  }

  async #reopen(): Promise<void> {
    try {
      await this.open()
      this.#options.onGap()
    } catch {
      if (this.#client) this.#reconnect(this.#client)
      // There was no client to connect, such as while the file of a certificate is replaced.
      else this.#reopenLater()
    }
  }
}
