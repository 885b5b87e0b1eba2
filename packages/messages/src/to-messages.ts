import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type AdapterOptions,
  type Capabilities,
  fieldsOf,
  isObject,
  type Message,
  type Reasoning,
  type ToolCall,
} from 'agent-host'
import { invalid } from './errors.ts'
import { type Parts, readParts, readText } from './read-blocks.ts'
import type { Block, Content, MessageRequest, WireMessage } from './schema.ts'
import type { Signatures, SignedData } from './signatures.ts'

/** Parts of the host that a conversation is read with. */
export interface Reading {
  readonly readAddress: AdapterOptions['http']['readAddress']
  readonly capabilities: Capabilities
  readonly signatures: Signatures
}

type Conversation = Pick<MessageRequest, 'messages' | 'system'>

/** Data of vendors that the client has kept, by signature. */
type Opened = ReadonlyMap<unknown, SignedData | undefined>

/**
 * The conversation of a request. What the agent does not take is left out of earlier messages; in the last one of the user the host refuses it.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export async function toMessages({ messages, system }: Conversation, reading: Reading): Promise<Message[]> {
  // Claude Code ends a request with a message of the system.
  if (messages.findLast(({ role }) => role !== 'system')?.role !== 'user') {
    throw invalid(
      'messages',
      'the last message must be of the user: an agent does not continue an answer that has begun',
    )
  }
  checkResults(messages)
  const opened = await openSignatures(messages, reading.signatures)
  const handled = messages.findLastIndex(({ role, content }) => role === 'user' && isSaid(content))
  if (handled === -1) throw invalid('messages', 'no message of the user says anything')
  const read = messages.flatMap((message, index): Message | Message[] => {
    const { role, content } = message
    // A body of very many short messages must not hold up the server.
    if (typeof content === 'string') return { role, content: role === 'user' ? content.trim() : content }
    const isKept = (mediaType: string) => index === handled || reading.capabilities.takes(mediaType)
    return toMessage(role, content, `messages[${index}].content`, { ...reading, opened, isKept })
  })
  return system === undefined ? read : [{ role: 'system', content: textOf(system, 'system', reading) }, ...read]
}

interface MessageReading extends Reading {
  readonly opened: Opened
  readonly isKept: (mediaType: string) => boolean
}

function toMessage(
  role: WireMessage['role'],
  blocks: readonly Block[],
  field: string,
  reading: MessageReading,
): Message[] {
  if (role === 'system') return [{ role, content: textOf(blocks, field, reading) }]
  if (role === 'assistant') return [toAnswer(blocks, reading.opened)]
  return [...toResults(blocks, field, reading), ...toSaid(blocks, field, reading)]
}

/** An earlier answer. Calls of the vendor's own tools are left out: they are none of this server. */
function toAnswer(blocks: readonly Block[], opened: Opened): Message {
  const kept = blocks.map((block) => opened.get(signatureOf(block)))
  const calls = new Map(kept.flatMap((data) => Object.entries(data?.calls ?? {})))
  const reasoning = blocks.flatMap((block): Reasoning[] => toReasoning(block, opened))
  const toolCalls = blocks.filter(({ type }) => type === 'tool_use').map((block) => toCall(block, calls))
  return {
    role: 'assistant',
    content: blocks.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
    ...(reasoning.length > 0 ? { reasoning } : undefined),
    ...(toolCalls.length > 0 ? { toolCalls } : undefined),
  }
}

/** Thinking whose signature is not of this server would be refused by the vendor of the agent's model. */
function toReasoning(block: Block, opened: Opened): Reasoning[] {
  const signature = signatureOf(block)
  const data = opened.get(signature)
  const text = block.type === 'thinking' && typeof block.thinking === 'string' ? block.thinking : ''
  if (data?.thinking) return [{ text, providerMetadata: data.thinking }]
  return signature === '' && text !== '' ? [{ text }] : []
}

function toCall({ id, name, input }: Block, calls: ReadonlyMap<string, SignedData['thinking']>): ToolCall {
  const callId = String(id)
  const metadata = calls.get(callId)
  const call = { id: callId, name: String(name), arguments: fieldsOf(input) }
  return metadata ? { ...call, providerMetadata: metadata } : call
}

function toResults(blocks: readonly Block[], field: string, reading: MessageReading): Message[] {
  return blocks.flatMap((block, index): Message[] => {
    if (!isResult(block)) return []
    const { texts, ...shown } = readKept(block.content, `${field}[${index}].content`, reading)
    const isError = block.is_error === true ? { isError: true } : undefined
    return [{ role: 'tool', toolCallId: String(block.tool_use_id), content: texts.join('\n'), ...shown, ...isError }]
  })
}

function toSaid(blocks: readonly Block[], field: string, reading: MessageReading): Message[] {
  if (!isSaid(blocks)) return []
  // The places of the blocks stay, for errors that name them.
  const said = blocks.map((block) => (isResult(block) ? EMPTY : block))
  const { texts, ...shown } = readKept(said, field, reading)
  return [{ role: 'user', content: texts.join('\n').trim(), ...shown }]
}

const EMPTY: Block = Object.freeze({ type: 'text', text: '' })

function readKept(
  content: unknown,
  field: string,
  { readAddress, isKept }: MessageReading,
): Partial<Parts> & Pick<Parts, 'texts'> {
  const { texts, attachments } = readParts(content, field, readAddress)
  const kept = attachments.filter(({ mediaType }) => isKept(mediaType))
  return kept.length > 0 ? { texts, attachments: kept } : { texts }
}

function textOf(content: Content, field: string, { readAddress }: Reading): string {
  const { texts, attachments } = readParts(content, field, readAddress)
  if (attachments.length > 0) throw invalid(field, 'is read as text: send images and files in a message of the user')
  return texts.join('\n')
}

/** Blocks of a message; none of a text. */
function blocksOf({ content }: WireMessage): readonly Block[] {
  return typeof content === 'string' ? NONE : content
}

const NONE: readonly Block[] = Object.freeze([])

/** Tells whether a message of the user has something that the user says. */
function isSaid(content: Content): boolean {
  return typeof content === 'string' || !content.every(isResult)
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result'
}

function signatureOf({ type, signature, data }: Block): unknown {
  if (type === 'redacted_thinking') return data
  return type === 'thinking' ? (signature ?? '') : undefined
}

/** Number of signatures that are opened in one turn of the event loop. */
const OPENED_IN_TURN = 1000

async function openSignatures(messages: readonly WireMessage[], signatures: Signatures): Promise<Opened> {
  const answers = messages.filter(({ role }) => role === 'assistant')
  const kept = [...new Set(answers.flatMap(blocksOf).map(signatureOf))]
  const opened = new Map<unknown, SignedData | undefined>()
  for (const one of kept) {
    opened.set(one, await signatures.open(one))
    if (opened.size % OPENED_IN_TURN === 0) await nextTurn()
  }
  return opened
}

/** Every call has one result, in the next message, and every result its call. What an answer says and calls has its types from here on. */
function checkResults(messages: readonly WireMessage[]): void {
  const open = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const field = `messages[${index}].content`
    for (const [place, block] of blocksOf(message).entries()) {
      const at = `${field}[${place}]`
      if (message.role === 'assistant' && block.type === 'text') readText(block.text, `${at}.text`)
      if (message.role === 'assistant' && block.type === 'tool_use') openCall(block, at, open)
      if (message.role !== 'user' || block.type !== 'tool_result') continue
      const id = readText(block.tool_use_id, `${at}.tool_use_id`)
      if (!open.delete(id)) throw invalid(`${at}.tool_use_id`, `'${id}' is no open call of an answer`)
    }
    const [id] = message.role === 'user' ? open : []
    if (id !== undefined) throw invalid(field, `has no tool_result for the call '${id}'`)
  }
}

function openCall({ id: rawId, name, input }: Block, at: string, open: Set<string>): void {
  readText(name, `${at}.name`)
  const id = readText(rawId, `${at}.id`)
  if (open.has(id)) throw invalid(`${at}.id`, `'${id}' is the id of another open call`)
  if (!isObject(input ?? {})) throw invalid(`${at}.input`, 'must be an object')
  open.add(id)
}
