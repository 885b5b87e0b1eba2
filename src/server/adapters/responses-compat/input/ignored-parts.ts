import type { FastifyRequest } from 'fastify'
import { fieldsOf } from '../../../../json.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { CreateRequest, RawInputItem } from '../routes/schema.ts'
import { hasReadableTools } from './client-tools.ts'
import { readThresholds } from './compaction.ts'
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
  find(body: CreateRequest, dialect: Dialect, { id, log }: Pick<FastifyRequest, 'id' | 'log'>): string | undefined {
    const ignored = findIgnored(body, dialect)
    if (ignored.length === 0) return undefined
    const named = ignored.slice(0, MAX_NAMED).join(', ')
    const text = ignored.length > MAX_NAMED ? `${named}, ${ignored.length - MAX_NAMED} more` : named
    const key = `${body.model} ${text}`.replace(/\[\d+\]/g, '')
    if (this.#logged.size < MAX_LOGGED && !this.#logged.has(key)) {
      this.#logged.add(key)
      log.info({ reqId: id }, `a request to '${body.model}' has parts that are ignored: ${text}`)
    }
    return text
  }
}

function findIgnored(body: CreateRequest, { isExtended }: Dialect): string[] {
  const ignored: string[] = []
  const note = (treatments: Treatments, member: string, place: string, text: string) => {
    const decision = Object.hasOwn(treatments, member) ? treatments[member] : undefined
    const isRefused = decision?.effect === 'refused' && (isExtended || decision.isRefusedAlways)
    if (decision && isRefused) throw invalidField(place, decision.note)
    ignored.push(text)
  }
  const noteListed = (treatments: Treatments, member: string, place: string) =>
    note(treatments, member, place, `${place} (${printable(member)})`)
  for (const field in body) {
    const isSent = (body[field as keyof CreateRequest] ?? '') !== ''
    if (!EFFECTIVE.fields.has(field) && isSent) note(FIELDS, field, field, printable(field))
  }
  if (!isExtended && !readThresholds(body)) ignored.push('context_management')
  body.include?.forEach((value, index) => {
    if (!EFFECTIVE.includes.has(value)) noteListed(INCLUDES, value, `include[${index}]`)
  })
  const noteTools = (tools: readonly unknown[], place: string) => {
    for (const [index, tool] of tools.entries()) {
      const { type } = fieldsOf(tool)
      if (typeof type === 'string' && !EFFECTIVE.tools.has(type)) noteListed(TOOLS, type, `${place}[${index}]`)
    }
  }
  noteTools(body.tools ?? [], 'tools')
  if (typeof body.input === 'string') return ignored
  for (const [index, item] of body.input.entries()) {
    const { type, tools, encrypted_content: sealed }: RawInputItem = item
    const isBare = type === 'reasoning' && typeof sealed !== 'string'
    const isEarly = !isExtended && type === 'compaction_trigger' && index < body.input.length - 1
    if (typeof type === 'string' && (isBare || isEarly || !EFFECTIVE.items.has(type)))
      noteListed(INPUT_ITEMS, type, `input[${index}]`)
    if (type !== 'additional_tools') continue
    if (!isExtended && !hasReadableTools(item)) ignored.push(`input[${index}] (${type})`)
    else if (Array.isArray(tools)) noteTools(tools, `input[${index}].tools`)
  }
  return ignored
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
