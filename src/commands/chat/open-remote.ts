import { badOption } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { ServerClient } from '../server/server-client.ts'
import type { Backend } from './backend.ts'
import { ChatConversation } from './chat-conversation.ts'
import { ResponsesConversation } from './responses-conversation.ts'

/**
 * The agents of a running server: through its responses adapter, which shows tool calls and takes decisions, otherwise through its
 * chat adapter, which shows text alone.
 */
export async function openRemote(url: string, apiKey: string | undefined): Promise<Backend> {
  const client = new ServerClient(url, apiKey, 'Without --url the agents run in this process.')
  const hasResponses = await servesResponses(client)
  return {
    async agents() {
      const models = await client.fetch('/compat/models')
      // The chat adapter lists them: a server may be without it, or require another key there.
      if (hasResponses && [401, 404].includes(models.status)) {
        await models.body?.cancel()
        return undefined
      }
      const { data } = fieldsOf(await (await client.requireOk(models)).json().catch(() => undefined))
      // Another program may answer there, and to any path.
      if (!Array.isArray(data)) throw badOption(`What answers at ${url} is no agent-host server: it lists no agents.`)
      return data.map(({ id }) => ({ id, description: '' }))
    },
    open: (agent) => (hasResponses ? new ResponsesConversation(client, agent) : new ChatConversation(client, agent)),
    howToDecide: () => `Decide with: agent-host approvals --url ${url}`,
    async close() {},
  }
}

/** A key that may not decide approvals is one of the responses adapter all the same; one that it does not know is the chat adapter's. */
async function servesResponses(client: ServerClient): Promise<boolean> {
  const { status, body } = await client.fetch('/compat/approvals?limit=1')
  await body?.cancel()
  return status === 200 || status === 403
}
