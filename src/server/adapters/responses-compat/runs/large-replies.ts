import type { Writable } from 'node:stream'
import { Lanes } from '../../../../async.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { lengthOfTexts } from '../../../../json.ts'
import { ByteBudget, heapShare } from '../../../bodies/byte-budget.ts'

/** Part of the heap that streams of stored responses may hold: texts alone, of up to two bytes a character. */
const STREAMED_SHARE = 1 / 16
/** Length of a row before it is read, when nobody knows it: so many are read at once as fit into the part of the heap. */
const ASSUMED_LENGTH = 4 * 1024 * 1024
const READ_SHARE = 1 / 32

/** Reply of the framework: what counts is how long the client takes to read it. */
interface Reply {
  readonly raw: Writable
}

/** Replies from the store of the adapter: the large ones wait until the server has sent others. */
export class LargeReplies {
  readonly #whole = new ByteBudget()
  readonly #streamed: ByteBudget
  readonly #reads = new Lanes(Math.max(Math.floor(heapShare(READ_SHARE) / ASSUMED_LENGTH), 1))

  /** @param maxUnsentMb of all connections together, in MiB */
  constructor(maxUnsentMb: number) {
    this.#streamed = new ByteBudget({ maxBytes: Math.min(maxUnsentMb * 1024 * 1024, heapShare(STREAMED_SHARE)) })
  }

  /** @throws HostError `OVERLOADED` */
  readPage<T>(reply: Reply, read: () => Promise<T>): Promise<T> {
    return this.#whole.read(() => this.#reads.run(read), lengthOfTexts, reply.raw)
  }

  /**
   * @param isStreamed for the streams of a response, which hold it once, however many they are
   * @throws HostError `OVERLOADED`
   */
  readResponse<T extends StoredRun | undefined>(
    reply: Reply,
    isStreamed: boolean,
    id: string,
    read: () => Promise<T>,
  ): Promise<T> {
    const lengthOf = (stored: T) => stored?.largeLength ?? 0
    const readInLane = () => this.#reads.run(read)
    if (isStreamed) return this.#streamed.read(readInLane, lengthOf, reply.raw, id)
    return this.#whole.read(readInLane, lengthOf, reply.raw)
  }
}
