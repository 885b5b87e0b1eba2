/** Bytes; more is taken when a turn of the event loop has more to say. */
const CHUNK = 256 * 1024
/** Maximum size of a UTF-16 code unit in UTF-8. */
const MAX_BYTES_A_CHAR = 3

/** Lines of several agents in the order in which they came, as the thread takes them over. */
export interface LineBatch {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  readonly segments: readonly LineSegment[]
  /** Events, that is lines. */
  readonly count: number
  readonly bytes: number
}

/** Lines of one agent and tenant that lie together. */
export interface LineSegment {
  readonly agentId: string
  readonly tenant: string
  readonly chunk: number
  readonly start: number
  end: number
}

/** Collects lines as bytes that can be handed to a thread without being copied again. */
export class LineBuffer {
  #chunks: Buffer<ArrayBuffer>[] = []
  #segments: LineSegment[] = []
  #current: Buffer<ArrayBuffer> | undefined
  #end = 0
  #count = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Adds a line; its newline is added here. */
  add(agentId: string, tenant: string, line: string): void {
    const chunk = this.#chunkFor(line.length * MAX_BYTES_A_CHAR + 1)
    const start = this.#end
    const end = start + chunk.write(line, start)
    chunk[end] = 0x0a
    this.#end = end + 1
    this.#count++
    this.#bytes += this.#end - start
    const last = this.#segments.at(-1)
    const index = this.#chunks.length - 1
    if (last?.agentId === agentId && last.tenant === tenant && last.chunk === index) last.end = this.#end
    else this.#segments.push({ agentId, tenant, chunk: index, start, end: this.#end })
  }

  /** Everything so far; the buffer is empty afterwards. */
  take(): LineBatch {
    const batch = { chunks: this.#chunks, segments: this.#segments, count: this.#count, bytes: this.#bytes }
    this.#chunks = []
    this.#segments = []
    this.#current = undefined
    this.#count = 0
    this.#bytes = 0
    return batch
  }

  #chunkFor(room: number): Buffer<ArrayBuffer> {
    if (this.#current && this.#end + room <= this.#current.length) return this.#current
    // Not of Node's pool, which cannot be handed over.
    this.#current = Buffer.allocUnsafeSlow(Math.max(CHUNK, room))
    this.#chunks.push(this.#current)
    this.#end = 0
    return this.#current
  }
}

/** The lines of a batch by the file that they go to, as the pieces that they are in. */
export function groupByFile(
  { chunks, segments }: LineBatch,
  nameOf: (agentId: string, tenant: string) => string,
): Map<string, Uint8Array[]> {
  const groups = new Map<string, Uint8Array[]>()
  for (const { agentId, tenant, chunk, start, end } of segments) {
    const name = nameOf(agentId, tenant)
    const pieces = groups.get(name) ?? []
    groups.set(name, pieces)
    pieces.push((chunks[chunk] as Uint8Array).subarray(start, end))
  }
  return groups
}
