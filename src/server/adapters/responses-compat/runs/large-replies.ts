import type { Writable } from 'node:stream'
import { Lanes } from '../../../../async.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { fieldsOf, lengthOfTexts } from '../../../../json.ts'
import { ByteBudget, heapShare, MIN_BYTES } from '../../../bodies/byte-budget.ts'

/** Part of the heap that streams of stored responses may hold: texts alone, of up to two bytes a character. */
const STREAMED_SHARE = 1 / 16
/** Length of a row before it is read, when nobody knows it: so many are read at once as fit into the part of the heap. */
const ASSUMED_LENGTH = 4 * 1024 * 1024
const READ_SHARE = 1 / 32

/** Reply of the framework: what counts is how long the client takes to read it. */
interface Reply {
  readonly raw: Writable
}

interface PageReply extends Reply {
  type(mediaType: string): unknown
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

  /**
   * Answers what was read, or the JSON of a large page.
   *
   * @throws HostError `OVERLOADED`
   */
  async readPage<T>(reply: PageReply, read: () => Promise<T>): Promise<T | Buffer> {
    const answer = await this.#whole.read(() => this.#reads.run(read), lengthOfTexts, reply.raw)
    const { data, ...facts } = fieldsOf(answer)
    if (!Array.isArray(data) || lengthOfTexts(data) < MIN_BYTES) return answer
    reply.type('application/json; charset=utf-8')
    return writePage(data, facts)
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

/** Writes entry by entry: the JSON of a page as one text would take several times its length of the heap. */
function writePage(data: readonly unknown[], facts: object): Buffer {
  const entries = data.flatMap((entry, index) => [
    Buffer.from(index === 0 ? '' : ','),
    Buffer.from(JSON.stringify(entry)),
  ])
  return Buffer.concat([Buffer.from('{"data":['), ...entries, Buffer.from(`],${JSON.stringify(facts).slice(1)}`)])
}
