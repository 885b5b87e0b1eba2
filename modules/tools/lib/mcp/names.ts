import { hash } from 'node:crypto'

/** Name of a tool with the prefix of its server, and the server. */
interface WantedName {
  readonly server: string
  readonly name: string
}

/** Name that models know a tool by. */
export interface GivenName {
  readonly name: string
  /** False for a generated name: another tool has the own one, or models would see no letter of it. */
  readonly isOwn: boolean
}

/** Maximum length of a tool name in the common model APIs. */
const MAX_LENGTH = 64

/**
 * Names for tools, of characters that the common model APIs allow. One that only cleaning makes equal to another gets a digest of its own name: in
 * whichever order servers list their tools, a name that a person has approved stands for the same tool.
 */
export function namesFor(wanted: readonly WantedName[]): GivenName[] {
  const plain = wanted.map(({ name }) => clean(name).slice(0, MAX_LENGTH))
  const counts = new Map<string, number>()
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1)
  return wanted.map((each, index) => {
    const name = plain[index] as string
    const isReadable = /[A-Za-z]/.test(name)
    if (name === each.name || (isReadable && counts.get(name) === 1)) return { name, isOwn: true }
    const mark = digestOf(each)
    const base = isReadable ? name : `${name.replace(/(?<!_)_+$/, '')}tool`
    return { name: `${base.slice(0, MAX_LENGTH - mark.length - 1)}_${mark}`, isOwn: false }
  })
}

function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

function digestOf({ server, name }: WantedName): string {
  return hash('sha256', `${server}\n${name}`).slice(0, 8)
}
