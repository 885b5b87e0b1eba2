import { HostError } from '../errors.ts'
import { type Attachment, isUser, type Message } from '../protocols/message.ts'
import {
  AudioMessageHandler,
  ImageMessageHandler,
  TextMessageHandler,
  VideoMessageHandler,
} from '../protocols/message-handlers.ts'
import type { EntryPoint } from '../wiring/wiring.ts'
import type { AgentRun } from './agent-run.ts'
import type { Exchange } from './exchange/exchange.ts'

/**
 * Hands the last message of the user to the entry point: each attachment to the handler of its kind, where there is one, then the
 * text.
 */
export function handleMessage(
  exchange: Exchange,
  entryPoint: EntryPoint,
  messages: readonly Message[],
  run: AgentRun,
): void | Promise<void> {
  const message = messages.findLast(isUser)
  const attachments = message?.role === 'user' ? message.attachments : undefined
  const text = message?.content ?? ''
  // Most messages are plain text, which needs no promise of its own.
  if (!attachments) return textHandler(exchange, entryPoint, run).handleText(text, run)
  return handleParts(exchange, entryPoint, attachments, text, run)
}

async function handleParts(
  exchange: Exchange,
  entryPoint: EntryPoint,
  attachments: readonly Attachment[],
  text: string,
  run: AgentRun,
): Promise<void> {
  const rest = await handleAttachments(exchange, entryPoint, attachments, run)
  // All of the message was handled already.
  if (rest.length === 0 && text === '') return
  await textHandler(exchange, entryPoint, run).handleText(text, run)
}

/** The attachments that have no handler of their own, and stay with the message. */
async function handleAttachments(
  exchange: Exchange,
  entryPoint: EntryPoint,
  attachments: readonly Attachment[],
  run: AgentRun,
): Promise<readonly Attachment[]> {
  const rest: Attachment[] = []
  for (const attachment of attachments) {
    const handle = attachmentHandler(exchange, entryPoint, attachment, run)
    if (handle) await handle()
    else rest.push(attachment)
  }
  return rest
}

function attachmentHandler(
  exchange: Exchange,
  entryPoint: EntryPoint,
  attachment: Attachment,
  run: AgentRun,
): (() => void | Promise<void>) | undefined {
  switch (attachment.mediaType.split('/')[0]) {
    case 'image': {
      const handler = exchange.handlerOf(entryPoint, ImageMessageHandler, run.agentId)
      return handler && (() => handler.handleImage(attachment, run))
    }
    case 'audio': {
      const handler = exchange.handlerOf(entryPoint, AudioMessageHandler, run.agentId)
      return handler && (() => handler.handleAudio(attachment, run))
    }
    case 'video': {
      const handler = exchange.handlerOf(entryPoint, VideoMessageHandler, run.agentId)
      return handler && (() => handler.handleVideo(attachment, run))
    }
    default:
      return undefined
  }
}

function textHandler(exchange: Exchange, entryPoint: EntryPoint, run: AgentRun): TextMessageHandler {
  const handler = exchange.handlerOf(entryPoint, TextMessageHandler, run.agentId)
  if (handler) return handler
  const message = `The entry point '${run.entryPoint}' of agent '${run.agentId}' takes no text.`
  throw new HostError('AGENT_FAILED', message, { suggestions: ['Give it a module that provides TextMessageHandler.'] })
}
