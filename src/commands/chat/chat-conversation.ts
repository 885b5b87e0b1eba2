import { badRequest, HostError } from '../../errors.ts'
import { readServerEvents, type ServerClient } from '../server/server-client.ts'
import type { Conversation, Reply, ReplyListener } from './backend.ts'

interface Chunk {
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[]
  readonly error?: { readonly message: string }
}

/** Conversation through the chat adapter of a server. Calls of tools stay on the server. */
export class ChatConversation implements Conversation {
  readonly #client: ServerClient
  readonly #agent: string
  said: Conversation['said'] = []

  constructor(client: ServerClient, agent: string) {
    this.#client = client
    this.#agent = agent
  }

  async ask(text: string, { signal, onText }: ReplyListener): Promise<Reply> {
    const messages = [...this.said, { role: 'user' as const, content: text }]
    const body = JSON.stringify({ model: this.#agent, stream: true, messages })
    const response = await this.#client.request('/compat/chat/completions', { method: 'POST', body, signal })
    let answer = ''
    for await (const { choices = [], error } of readServerEvents<Chunk>(response)) {
      if (error) throw new HostError('AGENT_FAILED', error.message)
      const piece = choices[0]?.delta.content ?? ''
      answer += piece
      if (piece !== '') onText(piece)
    }
    this.said = [...messages, { role: 'assistant', content: answer }]
    return { text: answer, toolCalls: [], attachments: [], waitsFor: [] }
  }

  async decide(): Promise<Reply> {
    throw badRequest('The chat adapter takes no decisions.')
  }
}
