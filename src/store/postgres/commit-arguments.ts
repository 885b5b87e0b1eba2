import type { PendingCommit } from '../group-commit.ts'
import { endOf } from '../key-bounds.ts'

/** Returns the arguments of the function that commits: columns of numbers, keys and values. */
export function toArguments(serverId: string, commits: readonly PendingCommit[]): unknown[] {
  const guards = new Columns(2)
  const absences = new Columns(2)
  const sets = new Columns(2)
  const removals = new Columns(1)
  const topics = new Columns(1)
  commits.forEach(({ changes, guards: { present = [], absent = [], equal = [] }, notify }, of) => {
    for (const key of present) guards.add(of, key, null)
    for (const [key, value] of equal) guards.add(of, key, value)
    for (const prefix of absent) absences.add(of, prefix, endOf(prefix))
    // A key that is named twice has the value that was named last.
    for (const [key, value] of new Map(changes)) value === undefined ? removals.add(of, key) : sets.add(of, key, value)
    for (const topic of notify) topics.add(of, topic)
  })
  return [
    serverId,
    ...[guards, absences, sets, removals, topics].flatMap(({ all: [numbers, ...columns] }) => [
      numbers,
      ...columns.map(toTextArray),
    ]),
  ]
}

const TEXT_OID = 25

/**
 * Returns an array of texts in the binary format of PostgreSQL (`array_recv`). In the other one the client escapes each quote, and holds the
 * event loop for seconds where a text has millions of them.
 */
function toTextArray(texts: readonly (string | null)[]): Buffer {
  const sizes = texts.map((text) => (text === null ? -1 : Buffer.byteLength(text)))
  // Number of dimensions, whether there are nulls, the type, the number of texts, and that of the first one.
  const head = [1, texts.includes(null) ? 1 : 0, TEXT_OID, texts.length, 1]
  const size = sizes.reduce((sum, one) => sum + Math.max(one, 0), 4 * (head.length + texts.length))
  const bytes = Buffer.allocUnsafe(size)
  let end = 0
  for (const number of head) end = bytes.writeInt32BE(number, end)
  for (const [index, text] of texts.entries()) {
    end = bytes.writeInt32BE(sizes[index] as number, end)
    if (text !== null) end += bytes.write(text, end)
  }
  return bytes
}

/** Rows as columns: numbers of commits, and texts. */
class Columns {
  readonly all: readonly [number[], ...(string | null)[][]]

  constructor(texts: number) {
    this.all = [[], ...Array.from({ length: texts }, () => [])]
  }

  add(of: number, ...texts: (string | null)[]): void {
    const [numbers, ...columns] = this.all
    numbers.push(of)
    for (const [index, column] of columns.entries()) column.push(texts[index] ?? null)
  }
}
