import { listAdapterChecks } from 'agent-host/testing'
import { ADAPTER } from './support/serve.ts'

describe('MessagesAdapter', () => {
  const checks = listAdapterChecks({
    adapter: ADAPTER,
    keyHeader: 'x-api-key',
    ask: (agent, text) => ({
      method: 'POST',
      url: '/anthropic/v1/messages',
      payload: { model: agent, max_tokens: 99, messages: [{ role: 'user', content: text }] },
    }),
    readText: (body) => JSON.parse(body).content[0].text,
    readError(body) {
      const { type, error, request_id } = JSON.parse(body)
      if (type !== 'error' || typeof error.type !== 'string' || typeof request_id !== 'string') throw new Error(body)
      return error.message
    },
  })
  for (const { title, run } of checks) it(title, run)
})
