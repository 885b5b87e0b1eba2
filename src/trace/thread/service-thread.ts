import { Worker } from 'node:worker_threads'
import { fieldsOf } from '../../json.ts'
import { LastingThread } from '../../lasting-thread.ts'
import { findThreadScript } from './thread-script.ts'

/** Message that every thread may send: it has started, answers a question, or has closed what it had open. */
export type ThreadReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: string }
  | { readonly kind: 'closed' }

export interface ServiceThreadOptions {
  /** Of what the thread holds, in its errors: `traces`. */
  readonly name: string
  /** Script of the thread, without its extension. */
  readonly script: URL
  readonly workerData: unknown
  /** Longest time that collected data waits to be handed over. */
  readonly handOverMs: number
}

/** The side of the process. */
export interface ThreadClient<News> {
  /** Called with each message of the thread that is no {@link ThreadReply}. */
  onNews(news: News): void
  /** Hands over the collected data: also called before each question, and before the thread closes. */
  handOver(): void
  /** Called when the thread has failed; data that was sent to it may be lost. */
  onEnd(reason: Error): void
  /** Called when another thread has started: it knows nothing of earlier requests. */
  onStartedAgain(): void
}

const CLOSE_TIMEOUT_MS = 5000

/** A thread that writes for its process: it gets what is collected together, answers questions, and keeps no process alive by itself. */
export class ServiceThread<Request, News> {
  readonly #thread: LastingThread<ThreadReply | News>
  readonly #handOverMs: number
  readonly #asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #client: ThreadClient<News> | undefined
  #questions = 0
  #handingOver: NodeJS.Timeout | undefined
  #onClosed: () => void = () => {}

  private constructor(name: string, start: () => Worker, handOverMs: number) {
    this.#handOverMs = handOverMs
    this.#thread = new LastingThread({
      name,
      start,
      onMessage: (message) => this.#onMessage(message),
      onEnd: (reason) => this.#onEnd(reason),
      onStartedAgain: () => this.#client?.onStartedAgain(),
    })
  }

  /** @throws Error when the thread does not start */
  static async start<Request, News extends { readonly kind: string }>({
    name,
    script,
    workerData,
    handOverMs,
  }: ServiceThreadOptions): Promise<ServiceThread<Request, News>> {
    const url = await findThreadScript(script)
    // Without what the process preloads: relative paths in it may lead nowhere by now.
    const start = () => new Worker(url, { workerData, execArgv: [] })
    const service = new ServiceThread<Request, News>(name, start, handOverMs)
    await service.#thread.started
    return service
  }

  /** Must be called once, before anything else. */
  serve(client: ThreadClient<News>): void {
    this.#client = client
  }

  /** Why nothing reaches the thread now; undefined while it works. */
  get failure(): Error | undefined {
    return this.#thread.failure
  }

  /** @param buffers that go over to the thread */
  tell(request: Request, buffers: readonly ArrayBuffer[] = []): void {
    if (!this.failure) this.#thread.worker.postMessage(request, buffers)
  }

  /** Has the collected data handed over soon. */
  handOverSoon(): void {
    this.#handingOver ??= setTimeout(() => this.handOver(), this.#handOverMs).unref()
  }

  /** Has the collected data handed over now. */
  handOver(): void {
    clearTimeout(this.#handingOver)
    this.#handingOver = undefined
    this.#client?.handOver()
  }

  /**
   * Asks the thread, once everything before is handed over.
   *
   * @param toRequest gets the id that the answer has to have
   * @throws Error of the thread, or of its end
   */
  async ask(toRequest: (id: number) => Request): Promise<unknown> {
    this.handOver()
    if (this.failure) throw this.failure
    const id = ++this.#questions
    return new Promise<unknown>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject })
      this.#thread.worker.ref()
      this.tell(toRequest(id))
    })
  }

  /** Closes it, once everything before is handed over. */
  async close(request: Request): Promise<void> {
    this.#thread.beginClosing()
    if (this.failure) return
    this.handOver()
    this.#thread.worker.ref()
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)
      this.tell(request)
    })
    clearTimeout(timer)
    await this.#thread.worker.terminate()
  }

  #onMessage(message: ThreadReply | News): void {
    if (!isReply(message)) this.#client?.onNews(message)
    else if (message.kind === 'answer') this.#settle(message)
    else if (message.kind === 'closed') this.#onClosed()
    else {
      this.#thread.noteReady()
      this.#unrefIfIdle()
    }
  }

  /** The thread alone keeps no process alive. */
  #unrefIfIdle(): void {
    if (this.#asked.size === 0) this.#thread.worker.unref()
  }

  #settle({ id, value, error }: Extract<ThreadReply, { kind: 'answer' }>): void {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    this.#unrefIfIdle()
    if (error === undefined) asked?.resolve(value)
    else asked?.reject(new Error(error))
  }

  #onEnd(reason: Error): void {
    for (const { reject } of this.#asked.values()) reject(reason)
    this.#asked.clear()
    if (!this.#thread.isClosing) this.#client?.onEnd(reason)
    this.#onClosed()
  }
}

const REPLIES: ReadonlySet<unknown> = new Set<ThreadReply['kind']>(['ready', 'answer', 'closed'])

function isReply<News>(message: ThreadReply | News): message is ThreadReply {
  return REPLIES.has(fieldsOf(message).kind)
}
