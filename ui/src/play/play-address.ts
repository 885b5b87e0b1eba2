import { agentOf, type Column } from '../responses/column.ts'
import { keepSetup, readSetup } from '../responses/kept-setups.ts'
import type { Seed, Setup } from '../responses/setup.ts'
import { href } from '../router.ts'

type Query = Readonly<Record<string, string>>

/**
 * Reads who answers from the address: `play/<agent>?entry=&temperature=&beside=<model>&beside_temperature=`, or `setup=` for what this
 * browser keeps.
 */
export function readStart(agent: string, query: Query): Setup {
  const kept = readSetup(query.setup)
  if (kept) return kept
  const first = toColumn(query.entry ? `${agent}/${query.entry}` : agent, query.temperature)
  return { columns: query.beside ? [first, toColumn(query.beside, query.beside_temperature)] : [first] }
}

/** Address of the playground with these columns, and one of their threads. */
export function playAddress(columns: readonly Column[], thread?: string): string {
  const [first, second] = columns
  const [agent = '', entry] = (first?.model ?? '').split('/')
  return href(['play', agent], {
    entry,
    temperature: first?.temperature?.toString(),
    beside: second?.model,
    beside_temperature: second?.temperature?.toString(),
    thread,
  })
}

/** Address of a new thread; what does not fit into it is kept in this browser. */
export function startAddress(columns: readonly Column[], seed?: Seed): string {
  if (columns.length <= 2 && !seed && columns.every(({ changes, options }) => !changes && !options)) {
    return playAddress(columns)
  }
  const id = crypto.randomUUID?.() ?? `${Date.now()}`
  keepSetup(id, { columns, ...(seed ? { seed } : {}) })
  return href(['play', agentOf(columns[0] ?? { model: '' })], { setup: id })
}

function toColumn(model: string, temperature: string | undefined): Column {
  return temperature ? { model, temperature: Number(temperature) } : { model }
}
