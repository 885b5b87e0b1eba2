import { HostError } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'

/** The error about an attachment of the question, with the field of the request's body that brought it. */
export function withFieldOfPart(error: HostError, body: unknown): HostError {
  const { code, message, cause, agentId, field = '' } = error
  const [place, index] = /^attachments(?:\[(\d+)\])?$/.exec(field) ?? []
  if (place === undefined) return error
  return new HostError(code, message, { cause, agentId, field: fieldOfPart(body, Number(index)) })
}

function fieldOfPart(body: unknown, index: number): string {
  const { messages, input } = fieldsOf(body)
  const name = Array.isArray(messages) ? 'messages' : 'input'
  const list: unknown[] = [messages ?? input].flat()
  const at = list.findLastIndex((item) => fieldsOf(item).role === 'user')
  const { content } = fieldsOf(list[at])
  const parts = Array.isArray(content) ? content.flatMap((part, place) => (isText(part) ? [] : [place])) : []
  const part = parts[index]
  return part === undefined ? name : `${name}[${at}].content[${part}]`
}

function isText(part: unknown): boolean {
  return /text$|^refusal$/.test(String(fieldsOf(part).type))
}
