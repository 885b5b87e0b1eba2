import type { FastifyRequest } from 'fastify'
import { fieldsOf } from '../../../../json.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { readThresholds } from '../compaction/compaction.ts'
import type { CreateRequest, RawInputItem } from '../routes/schema.ts'
import { hasReadableTools } from './client-tools.ts'
import { FIELDS, INCLUDES, INPUT_ITEMS, TOOLS, type Treatment } from './treatments.ts'

type Treatments = Readonly<Record<string, Treatment>>

/** Members that have an effect: all others are looked up one by one. */
const EFFECTIVE = {
  fields: effectiveOf(FIELDS),
  includes: effectiveOf(INCLUDES),
  items: effectiveOf(INPUT_ITEMS),
  tools: effectiveOf(TOOLS),
}

/** Maximum number of parts that a header names. */
const MAX_NAMED = 40
/** Maximum number of requests whose ignored parts are remembered as logged. */
const MAX_LOGGED = 1000

/** Parts of requests without an effect: logged the first time that a client of an agent sends them. */
export class IgnoredParts {
  readonly #logged = new Set<string>()

  /**
   * Names the parts of a request that are ignored: `tools[8] (web_search)`; undefined if there are none.
   *
   * @throws HostError `REQUEST_INVALID` for a part that is refused in the dialect
   */
  find(body: CreateRequest, dialect: Dialect, request: Pick<FastifyRequest, 'id' | 'log'>): string | undefined {
    const { model, input } = body
    const parts = new Parts(dialect)
    parts.noteFields(body)
    if (typeof input !== 'string') parts.noteItems(input, 'input')
    return this.#name(parts.ignored, model, `a request to '${model}' has parts`, request)
  }

  /** Names those of the items that a client adds to a conversation, as {@link IgnoredParts.find} does: `items[0] (web_search_call)`. */
  findItems(
    items: readonly RawInputItem[],
    dialect: Dialect,
    request: Pick<FastifyRequest, 'id' | 'log'>,
  ): string | undefined {
    const parts = new Parts(dialect)
    parts.noteItems(items, 'items')
    return this.#name(parts.ignored, '', 'a conversation gets items', request)
  }

  #name(
    ignored: readonly string[],
    model: string,
    what: string,
    { id, log }: Pick<FastifyRequest, 'id' | 'log'>,
  ): string | undefined {
    if (ignored.length === 0) return undefined
    const named = ignored.slice(0, MAX_NAMED).join(', ')
    const text = ignored.length > MAX_NAMED ? `${named}, ${ignored.length - MAX_NAMED} more` : named
    const key = `${model} ${text}`.replace(/\[\d+\]/g, '')
    if (this.#logged.size < MAX_LOGGED && !this.#logged.has(key)) {
      this.#logged.add(key)
      log.info({ reqId: id }, `${what} that are ignored: ${text}`)
    }
    return text
  }
}

/** Ignored parts of one request. */
class Parts {
  readonly ignored: string[] = []
  readonly #isExtended: boolean

  constructor({ isExtended }: Dialect) {
    this.#isExtended = isExtended
  }

  /** Everything but the items. */
  noteFields(body: CreateRequest): void {
    for (const field in body) {
      const isSent = (body[field as keyof CreateRequest] ?? '') !== ''
      if (!EFFECTIVE.fields.has(field) && isSent) this.#note(FIELDS, field, field, printable(field))
    }
    if (!this.#isExtended && !readThresholds(body)) this.ignored.push('context_management')
    body.include?.forEach((value, index) => {
      if (!EFFECTIVE.includes.has(value)) this.#noteListed(INCLUDES, value, `include[${index}]`)
    })
    this.#noteTools(body.tools ?? [], 'tools')
  }

  noteItems(items: readonly RawInputItem[], place: string): void {
    for (const [index, item] of items.entries()) {
      const { type, tools, encrypted_content: sealed } = item
      const isBare = type === 'reasoning' && typeof sealed !== 'string'
      const isEarly = !this.#isExtended && type === 'compaction_trigger' && index < items.length - 1
      if (typeof type === 'string' && (isBare || isEarly || !EFFECTIVE.items.has(type)))
        this.#noteListed(INPUT_ITEMS, type, `${place}[${index}]`)
      if (type !== 'additional_tools') continue
      if (!this.#isExtended && !hasReadableTools(item)) this.ignored.push(`${place}[${index}] (${type})`)
      else if (Array.isArray(tools)) this.#noteTools(tools, `${place}[${index}].tools`)
    }
  }

  #noteTools(tools: readonly unknown[], place: string): void {
    for (const [index, tool] of tools.entries()) {
      const { type } = fieldsOf(tool)
      if (typeof type === 'string' && !EFFECTIVE.tools.has(type)) this.#noteListed(TOOLS, type, `${place}[${index}]`)
    }
  }

  #noteListed(treatments: Treatments, member: string, place: string): void {
    this.#note(treatments, member, place, `${place} (${printable(member)})`)
  }

  #note(treatments: Treatments, member: string, place: string, text: string): void {
    const decision = Object.hasOwn(treatments, member) ? treatments[member] : undefined
    const isRefused = decision?.effect === 'refused' && (this.#isExtended || decision.isRefusedAlways)
    if (decision && isRefused) throw invalidField(place, decision.note)
    this.ignored.push(text)
  }
}

/** Text of a client within a header: short, and of ASCII characters without those that separate parts. */
function printable(text: string): string {
  return text.slice(0, 64).replace(/[^\x21-\x7e]|[,()]/g, '?')
}

function effectiveOf(treatments: Treatments): ReadonlySet<string> {
  const members = Object.entries(treatments).filter(
    ([, { effect }]) => effect === 'honoured' || effect === 'given to the model',
  )
  return new Set(members.map(([member]) => member))
}
