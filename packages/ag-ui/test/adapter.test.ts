import { listAdapterChecks } from 'agent-host/testing'
import { ADAPTER, readEvents, textOf } from './ag-ui-project.ts'

describe('AgUiAdapter', () => {
  const checks = listAdapterChecks({
    adapter: ADAPTER,
    ask: (agent, content) => ({
      method: 'POST',
      url: `/ag-ui/${agent}`,
      payload: { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content }] },
    }),
    readText: (body) => textOf({ events: readEvents(body) }),
    readError(body) {
      const { type, message } = body.startsWith('data:') ? (readEvents(body).at(-1) ?? {}) : JSON.parse(body)
      if (type !== 'RUN_ERROR') throw new Error(`No error: ${body}`)
      return message
    },
    // A failure after the stream has begun stands in the stream.
    statusOf: (status) => (status === 500 ? 200 : status),
    describedPath: '/ag-ui/{agent}',
  })
  for (const { title, run } of checks) it(title, run)
})
