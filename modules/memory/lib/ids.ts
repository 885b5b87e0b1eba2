import { hash, randomUUID } from 'node:crypto'

/** Before the name of an owner, unless it is the one of requests without a user. */
export const USER = 'user '

/** Returns a function that makes ids which sort by time: UUIDs of version 7 (RFC 9562, section 5.7). */
export function makeIds(): () => string {
  let lastMs = 0
  return () => {
    lastMs = Math.max(Date.now(), lastMs + 1)
    const time = lastMs.toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
  }
}

/** Returns the id of a new vector: it names its entry, and marks the owner, so that a search reads no entries of others. */
export function vectorIdFor(entryId: string, owner: string): string {
  return `${entryId}.${markOf(owner)}.${randomUUID()}`
}

/** Returns the id of the entry that a vector belongs to. */
export function entryIdOf(vectorId: string): string {
  return vectorId.split('.', 1)[0] ?? ''
}

/** Returns a test for vectors of the owner. */
export function ownedBy(owner: string): (vectorId: string) => boolean {
  const mark = markOf(owner)
  return (vectorId) => vectorId.split('.', 2)[1] === mark
}

function markOf(owner: string): string {
  return hash('sha256', owner).slice(0, 16)
}
