import type { FastifyRequest } from 'fastify'
import { fieldsOf } from '../../../../json.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { readThresholds } from '../compaction/compaction.ts'
import { type CreateRequest, ExtendedCreateRequest, type RawInputItem } from '../routes/schema.ts'
import { CLIENT_TYPES, hasReadableTools } from './client-tools.ts'

/** Parts that have an effect, by where they stand. The docs' table, which the tests hold, has all others too. */
export const EFFECTIVE: Readonly<Record<'fields' | 'includes' | 'items' | 'tools', ReadonlySet<string>>> = {
  // Models report no log probabilities: only the record shows the field.
  fields: new Set(Object.keys(ExtendedCreateRequest.properties).filter((field) => field !== 'top_logprobs')),
  includes: new Set(['reasoning.encrypted_content', 'agent.tool_calls']),
  items: new Set([
    'message',
    'function_call',
    'function_call_output',
    'mcp_call',
    'image_generation_call',
    'compaction',
    'item_reference',
    'mcp_approval_response',
    'reasoning',
    'custom_tool_call',
    'custom_tool_call_output',
    'additional_tools',
    'compaction_trigger',
  ]),
  tools: CLIENT_TYPES,
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
      if (EFFECTIVE.fields.has(field) || !isSent) continue
      this.#refuse(field)
      this.ignored.push(printable(field))
    }
    if (!this.#isExtended && !readThresholds(body)) this.ignored.push('context_management')
    body.include?.forEach((value, index) => {
      if (!EFFECTIVE.includes.has(value)) this.#note(value, `include[${index}]`)
    })
    this.#noteTools(body.tools ?? [], 'tools')
  }

  noteItems(items: readonly RawInputItem[], place: string): void {
    for (const [index, item] of items.entries()) {
      const { type, tools, encrypted_content: sealed } = item
      const isBare = type === 'reasoning' && typeof sealed !== 'string'
      const isEarly = !this.#isExtended && type === 'compaction_trigger' && index < items.length - 1
      if (typeof type === 'string' && (isBare || isEarly || !EFFECTIVE.items.has(type)))
        this.#note(type, `${place}[${index}]`)
      if (type !== 'additional_tools') continue
      if (!this.#isExtended && !hasReadableTools(item)) this.#note(type, `${place}[${index}]`)
      else if (Array.isArray(tools)) this.#noteTools(tools, `${place}[${index}].tools`)
    }
  }

  #noteTools(tools: readonly unknown[], place: string): void {
    for (const [index, tool] of tools.entries()) {
      const { type } = fieldsOf(tool)
      if (typeof type === 'string' && !EFFECTIVE.tools.has(type)) this.#note(type, `${place}[${index}]`)
    }
  }

  #note(member: string, place: string): void {
    this.ignored.push(`${place} (${printable(member)})`)
  }

  #refuse(field: string): void {
    if (field === 'prompt') throw invalidField(field, 'is a template of another server: send its text as instructions.')
    if (field === 'moderation' && this.#isExtended) throw invalidField(field, 'is not done here: use guards.')
  }
}

/** Text of a client within a header: short, and of ASCII characters without those that separate parts. */
function printable(text: string): string {
  return text.slice(0, 64).replace(/[^\x21-\x7e]|[,()]/g, '?')
}
