import type { ToolDefinition } from 'agent-host'

interface Property {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Property[]
  readonly default?: unknown
}

/** Arguments for a tool, as far as they can be read out of the text. Each number and name is used once. */
export function fillArguments(text: string, { parameters }: ToolDefinition): Record<string, unknown> {
  const properties = (parameters.properties ?? {}) as Readonly<Record<string, Property>>
  const required = new Set((parameters.required ?? []) as readonly string[])
  const found = readText(text)
  const filled: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const value = valueFor(name, property, found) ?? (required.has(name) ? fallback(property, text) : undefined)
    if (value !== undefined) filled[name] = value
  }
  return filled
}

interface Found {
  readonly text: string
  readonly numbers: number[]
  readonly quoted: string[]
  /** What follows in, at, for, to, from: mostly a place. */
  readonly places: string[]
}

function readText(text: string): Found {
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, match = '']) => match)
  return {
    text,
    numbers: all(/(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w])/g).map(Number),
    quoted: all(/["“']([^"”']+)["”'](?!\w)/g),
    places: all(/\b(?:in|at|for|to|from|of)\s+((?:\p{Lu}[\p{L}'-]*)(?:\s+\p{Lu}[\p{L}'-]*)*)/gu),
  }
}

function valueFor(name: string, property: Property, found: Found): unknown {
  const choices = choicesOf(property)
  if (choices.length > 0) return choices.find((choice) => mentions(found.text, String(choice)))
  const type = property.type ?? property.anyOf?.find((option) => option.type !== 'null')?.type
  if (type === 'integer') return takeWhere(found.numbers, Number.isInteger)
  if (type === 'number') return found.numbers.shift()
  if (type === 'boolean')
    return mentions(found.text, name) ? !/\b(no|not|without|don't)\b/i.test(found.text) : undefined
  if (type !== 'string') return undefined
  const about = `${name} ${property.description ?? ''}`
  if (/time.?zone|\bIANA\b/i.test(about)) return timeZoneIn(found)
  if (property.format === 'date' || /\bdate\b/i.test(name)) return /\b\d{4}-\d\d-\d\d\b/.exec(found.text)?.[0]
  return (
    found.quoted.shift() ?? (/city|place|location|country|where|town/i.test(about) ? found.places.shift() : undefined)
  )
}

function choicesOf(property: Property): readonly unknown[] {
  if (property.enum) return property.enum
  return (property.anyOf ?? []).flatMap((option) => option.const ?? option.enum ?? [])
}

function mentions(text: string, word: string): boolean {
  return text.toLowerCase().includes(word.toLowerCase().replaceAll('_', ' '))
}

function takeWhere(numbers: number[], fits: (value: number) => boolean): number | undefined {
  const index = numbers.findIndex(fits)
  return index === -1 ? undefined : numbers.splice(index, 1)[0]
}

/** `Asia/Tokyo` as it stands, or the zone of a city that is named. */
function timeZoneIn({ text, places }: Found): string | undefined {
  const zones = Intl.supportedValuesOf('timeZone')
  const written = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_/+-]+\b|\bUTC\b/.exec(text)?.[0]
  if (written === 'UTC' || zones.some((zone) => zone === written)) return written
  const cityOf = (zone: string) =>
    zone
      .slice(zone.lastIndexOf('/') + 1)
      .replaceAll('_', ' ')
      .toLowerCase()
  const named = places.map((place) => zones.find((zone) => cityOf(zone) === place.toLowerCase())).find((zone) => zone)
  return named ?? zones.find((zone) => new RegExp(`\\b${cityOf(zone)}\\b`, 'i').test(text))
}

/** A required argument that the text does not tell. */
function fallback(property: Property, text: string): unknown {
  if (property.default !== undefined) return property.default
  const [choice] = choicesOf(property)
  if (choice !== undefined) return choice
  if (property.type === 'number' || property.type === 'integer') return 0
  if (property.type === 'boolean') return false
  if (property.type === 'array') return []
  return property.type === 'object' ? {} : text
}
