import type { ToolDefinition } from 'agent-host'

interface Property {
  readonly type?: string | readonly string[]
  readonly items?: Property
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Property[]
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  readonly minItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** Arguments for a tool, as far as they can be read out of the text. Each number and name is used once. */
export function fillArguments(text: string, tool: ToolDefinition): Record<string, unknown> {
  const parameters = { ...tool.parameters }
  return fillProperties(resolveReferences(parameters, parameters), text)
}

/** An answer of a JSON schema, as far as its values can be read out of the text; the others are the plainest that fit. */
export function answerSchema(text: string, schema: Readonly<Record<string, unknown>>): unknown {
  return fallback(resolveReferences(schema, schema), text.trim())
}

/** The schema with its `$ref`s resolved; recursive schemas end after a few rounds. */
function resolveReferences(schema: unknown, root: Readonly<Record<string, unknown>>, depth = 0): Property {
  if (depth > MOST_LEVELS || typeof schema !== 'object' || schema === null) return schema as Property
  if (Array.isArray(schema)) return schema.map((each) => resolveReferences(each, root, depth + 1)) as Property
  const { $ref, ...own } = schema as { $ref?: unknown }
  const path = typeof $ref === 'string' && $ref.startsWith('#/') ? $ref.slice(2).split('/') : []
  const target = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], root)
  const whole = path.length > 0 ? { ...(target as object), ...own } : own
  const { $defs: _defs, definitions: _definitions, ...used } = whole as Record<string, unknown>
  const entries = Object.entries(used).map(([name, value]) => [name, resolveReferences(value, root, depth + 1)])
  return Object.fromEntries(entries) as Property
}

const MOST_LEVELS = 24

function fillProperties({ properties = {}, required: names = [] }: Property, text: string): Record<string, unknown> {
  const required = new Set(names)
  const found = findInText(text)
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
  /** Words after in, at, for, to, from: mostly a place. */
  readonly places: string[]
}

const DATE = /\b\d{4}-\d\d-\d\d\b/g

/** Up to the end of the phrase, or to a word of time. */
const PLACE_IN_LOWER_CASE =
  /\b(?:in|at|for)\s+([\p{L}'-][\p{L}' -]{0,59}?)(?=\s+(?:today|tomorrow|tonight|now|right|please|on|at|this)\b|[?.!,]|\s*$)/gu

/** Limit of the text that is searched repeatedly: a user may send megabytes. */
const LONGEST_SEARCH = 4000

function findInText(rawText: string): Found {
  const text = rawText.slice(0, LONGEST_SEARCH)
  const all = (pattern: RegExp, from = text) => [...from.matchAll(pattern)].map(([, match = '']) => match)
  const capitalized = all(/\b(?:in|at|for|to|from|of)\s+((?:\p{Lu}[\p{L}'-]*)(?:\s+\p{Lu}[\p{L}'-]*)*)/gu)
  return {
    text,
    // The parts of a date are no numbers.
    numbers: all(/(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w])/g, text.replace(DATE, ' ')).map(Number),
    quoted: all(/(?<!\w)["“']([^"”']+)["”'](?!\w)/g),
    places: capitalized.length > 0 ? capitalized : all(PLACE_IN_LOWER_CASE),
  }
}

function valueFor(name: string, property: Property, found: Found): unknown {
  const choices = choicesOf(property)
  if (choices.length > 0) return pickChoice(name, choices, found.text)
  const type = typeOf(property)
  if (type === 'integer') return takeWhere(found.numbers, Number.isInteger)
  if (type === 'number') return found.numbers.shift()
  if (type === 'boolean')
    return mentions(found.text, name) ? !/\b(no|not|without|don't)\b/i.test(found.text) : undefined
  if (type === 'array') return takeAll(property.items ?? {}, found)
  if (type !== 'string') return undefined
  const about = `${name} ${property.description ?? ''}`
  if (/time.?zone|\bIANA\b/i.test(about)) return timeZoneIn(found)
  if (property.format === 'date' || /\bdate\b/i.test(name)) return found.text.match(DATE)?.[0]
  return (
    findLike(property.examples ?? [], found.text) ??
    found.quoted.shift() ??
    (/city|place|location|country|where|town/i.test(about) ? found.places.shift() : undefined)
  )
}

/** The first word of the text that has the form of an example, such as `A-1002`: the same letters, and digits for digits. */
function findLike(examples: readonly unknown[], text: string): string | undefined {
  const forms = examples.filter(
    (example) => typeof example === 'string' && /^[\w-]+$/.test(example) && /\d/.test(example),
  )
  const patterns = forms.map((form) => new RegExp(`(?<![\\w-])${String(form).replace(/\d+/g, '\\d+')}(?![\\w-])`, 'i'))
  return patterns.map((pattern) => pattern.exec(text)?.[0]).find((match) => match !== undefined)
}

/** The first that is not null, of several. */
function typeOf({ type, anyOf = [] }: Property): string | undefined {
  if (typeof type === 'string') return type
  return (
    type?.find((name) => name !== 'null') ?? anyOf.map(typeOf).find((name) => name !== undefined && name !== 'null')
  )
}

/** All remaining numbers or quoted texts; `undefined` if there are none. */
function takeAll(items: Property, { numbers, quoted }: Found): unknown[] | undefined {
  const type = typeOf(items)
  const taken = type === 'number' || type === 'integer' ? numbers.splice(0) : quoted.splice(0)
  return taken.length > 0 ? taken : undefined
}

function choicesOf(property: Property): readonly unknown[] {
  if (property.enum) return property.enum
  return (property.anyOf ?? []).flatMap((option) => option.const ?? option.enum ?? [])
}

function mentions(text: string, word: string): boolean {
  return text.toLowerCase().includes(wordOf(word))
}

/**
 * Of several choices that the text names, the one after a word of direction: "100 degrees celsius in fahrenheit" converts to
 * fahrenheit. Where a thing comes from stands first.
 */
function pickChoice(name: string, choices: readonly unknown[], text: string): unknown {
  const named = choices.filter((choice) => mentions(text, String(choice)))
  const placeOf = (choice: unknown) => text.toLowerCase().indexOf(wordOf(choice))
  const [first] = named.toSorted((a, b) => placeOf(a) - placeOf(b))
  if (named.length < 2 || /^(from|source)/i.test(name)) return first
  const isAimedAt = (choice: unknown) => /\b(to|into|in|as)\s+(degrees\s+)?$/i.test(text.slice(0, placeOf(choice)))
  return named.find(isAimedAt) ?? first
}

function wordOf(choice: unknown): string {
  return String(choice).toLowerCase().replaceAll('_', ' ')
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

/** A required argument that the text does not contain. */
function fallback(property: Property, text: string): unknown {
  if (property.default !== undefined) return property.default
  if (property.const !== undefined) return property.const
  const [choice] = choicesOf(property)
  if (choice !== undefined) return choice
  const type = typeOf(property)
  if (type === 'number' || type === 'integer') return withinBounds(property)
  if (type === 'boolean') return false
  if (type === 'null') return null
  if (type === 'array')
    return Array.from({ length: property.minItems ?? 0 }, () => fallback(property.items ?? {}, text))
  return type === 'object' ? fillProperties(property, text) : textFor(property, text)
}

function withinBounds({ minimum = 0, exclusiveMinimum, maximum = Infinity }: Property): number {
  const least = Math.max(minimum, exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1)
  return Math.min(Math.ceil(least), maximum)
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '00:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function textFor({ format = '', minLength = 0, maxLength }: Property, text: string): string {
  return FORMATS[format] ?? text.padEnd(minLength, '.').slice(0, maxLength)
}
