import { packageOf } from '../../project/eject/find-items.ts'

/** A module that can be chosen. */
export interface Offer {
  readonly reference: string
  readonly description: string
  readonly ejected: boolean
}

/** Shows a list to tick, and answers the values that were ticked. */
export type Ask = (message: string, choices: readonly Choice[]) => Promise<readonly string[]>

export interface Choice {
  readonly name: string
  readonly value: string
  /** Text shown after the choice. */
  readonly short: string
}

/** Prompts for packages, then for their modules; not where there is no choice. */
export async function chooseItems(offers: readonly Offer[], ask: Ask): Promise<string[]> {
  const packages = [...new Set(offers.map(({ reference }) => packageOf(reference)))]
  const chosen = await ask(
    'Which packages?',
    packages.map((name) => ({ name: describePackage(name, offers), value: name, short: name })),
  )
  const items = offers.filter(({ reference }) => chosen.includes(packageOf(reference)))
  if (items.length === 0) return []
  return [...(await ask('Which modules?', describeItems(items)))]
}

function describePackage(name: string, offers: readonly Offer[]): string {
  const items = offers.filter(({ reference }) => packageOf(reference) === name)
  return `${name}: ${items.map(({ reference }) => reference.replace(/^.*\//, '')).join(', ')}`
}

function describeItems(offers: readonly Offer[]): Choice[] {
  const width = Math.max(...offers.map(({ reference }) => reference.length))
  return offers.map(({ reference, description, ejected }) => ({
    name: `${reference.padEnd(width)}  ${description}${ejected ? ' (is in modules/ already)' : ''}`,
    value: reference,
    short: reference,
  }))
}
