import { href } from '../router.ts'
import type { Column } from './threads.ts'

type Query = Readonly<Record<string, string>>

/** Reads who answers from the address: `play/<agent>?entry=&temperature=&beside=<model>&beside_temperature=`. */
export function readColumns(agent: string, query: Query): Column[] {
  const first = toColumn(query.entry ? `${agent}/${query.entry}` : agent, query.temperature)
  return query.beside ? [first, toColumn(query.beside, query.beside_temperature)] : [first]
}

/** Address of the playground with these columns, and one of their threads. */
export function playAddress([first, second]: readonly Column[], thread?: string): string {
  const [agent = '', entry] = (first?.model ?? '').split('/')
  return href(['play', agent], {
    entry,
    temperature: first?.temperature?.toString(),
    beside: second?.model,
    beside_temperature: second?.temperature?.toString(),
    thread,
  })
}

function toColumn(model: string, temperature: string | undefined): Column {
  return temperature ? { model, temperature: Number(temperature) } : { model }
}
