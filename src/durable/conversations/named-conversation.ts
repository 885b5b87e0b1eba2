import { hash } from 'node:crypto'

/**
 * Returns the id of the conversation that names stand for: the same on all servers, and of 92 bits of their hash, so that nobody finds other
 * names for it. It precedes the ids of all times, so that retention sees it.
 */
export function conversationIdFor(...names: readonly string[]): string {
  const digits = hash('sha256', JSON.stringify(names))
  const [time, rest] = [`00${digits.slice(0, 10)}`, digits.slice(10)]
  return `conv_${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 13)}00000`
}

/** Tells whether an id stands for names: no other begins with so early a time. */
export function isNamedId(id: string): boolean {
  return id.startsWith('conv_00')
}
