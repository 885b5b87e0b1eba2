import { invalidField } from '../../../bodies/invalid-field.ts'
import { inputItemId } from '../ids.ts'
import type { CreateRequest, InputItem, RawInputItem } from '../routes/schema.ts'

/** The input as it is stored. Every item gets an id of ours. */
export function toInputItems(input: CreateRequest['input'], responseId: string, createdAt: number): InputItem[] {
  const items: readonly RawInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return items.map((raw, index) => toInputItem(raw, index, inputItemId(responseId, index), createdAt))
}

function toInputItem(raw: RawInputItem, index: number, id: string, created_at: number): InputItem {
  const { id: reference, role, content, type = guessType(raw), ...rest } = raw
  if (type === 'item_reference') return { id, type, created_at, ...{ reference } }
  // Clients that keep no bytes name the image by its id.
  if (type === 'image_generation_call' && !rest.result) return { ...rest, id, type, created_at, ...{ reference } }
  const said = typeof content === 'string' ? [textPart(role ?? 'user', content)] : content
  if (type !== 'message') return { id, type: String(type), created_at, ...rest, ...given({ role, content: said }) }
  if (!role) {
    throw invalidField(`input[${index}].role`, 'must be one of user, assistant, system, developer')
  }
  if (said == null) {
    throw invalidField(`input[${index}].content`, 'must be a string or an array of parts')
  }
  return { ...rest, id, type, role, content: said, created_at }
}

/** Most clients leave the type of a message out, and some that of a reference to an item. */
function guessType({ role, id }: RawInputItem): string {
  return role === undefined && typeof id === 'string' ? 'item_reference' : 'message'
}

function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}

function textPart(role: string, text: string) {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text }
}
