import type { Backend } from './backend.ts'
import { ChatConversation } from './chat-conversation.ts'
import { ResponsesConversation } from './responses-conversation.ts'
import { ServerClient } from './server-client.ts'

/**
 * The agents of a running server: through its responses adapter, which shows tool calls and takes decisions, otherwise through its
 * chat adapter, which shows text alone.
 */
export async function openRemote(url: string, apiKey: string | undefined): Promise<Backend> {
  const client = new ServerClient(url, apiKey)
  const hasResponses = await servesResponses(client)
  return {
    async agents() {
      const { data } = await client.json<{ data: { id: string }[] }>('/compat/models')
      return data.map(({ id }) => ({ id, description: '' }))
    },
    open: (agent) => (hasResponses ? new ResponsesConversation(client, agent) : new ChatConversation(client, agent)),
    async close() {},
  }
}

/** An unknown route, or a key that is not the chat adapter's, is no responses adapter for us. */
async function servesResponses(client: ServerClient): Promise<boolean> {
  const response = await client.fetch('/compat/responses/none')
  return response.status === 404 && (await response.text()).includes('Response not found')
}
