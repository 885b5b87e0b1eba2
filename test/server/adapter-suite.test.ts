import { type AdapterSubject, listAdapterChecks } from 'agent-host/testing'

const messages = (text: string) => [{ role: 'user', content: text }]
const header = { accept: 'application/json, text/event-stream' }

const SUBJECTS: Readonly<Record<string, AdapterSubject>> = {
  'ChatCompatApiAdapter under /compat': {
    adapter: { name: 'ChatCompatApiAdapter' },
    ask: (model, text) => ({
      method: 'POST',
      url: '/compat/chat/completions',
      payload: { model, messages: messages(text) },
    }),
    readText: (body) => JSON.parse(body).choices[0].message.content,
    readError: (body) => JSON.parse(body).detail,
    statusOf: (status) => (status === 404 ? 400 : status),
  },
  'ChatCompatApiAdapter under /v1': {
    adapter: { name: 'ChatCompatApiAdapter' },
    ask: (model, text) => ({
      method: 'POST',
      url: '/v1/chat/completions',
      payload: { model, messages: messages(text) },
    }),
    readText: (body) => JSON.parse(body).choices[0].message.content,
    readError: (body) => JSON.parse(body).error.message,
  },
  ResponsesCompatApiAdapter: {
    adapter: { name: 'ResponsesCompatApiAdapter' },
    ask: (model, input) => ({ method: 'POST', url: '/v1/responses', payload: { model, input } }),
    readText: (body) => JSON.parse(body).output[0].content[0].text,
    readError: (body) => JSON.parse(body).error.message,
  },
  McpApiAdapter: {
    adapter: { name: 'McpApiAdapter' },
    ask: (name, message) => ({
      method: 'POST',
      url: '/mcp',
      headers: header,
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { message } } },
    }),
    readText: (body) => JSON.parse(body).result.content[0].text,
    readError(body) {
      const { error, result, detail } = JSON.parse(body)
      return error?.message ?? result?.content[0].text ?? detail
    },
    statusOf: (status) => (status === 413 ? status : 200),
  },
}

for (const [name, subject] of Object.entries(SUBJECTS)) {
  describe(`${name}, as every adapter`, () => {
    for (const { title, run } of listAdapterChecks(subject)) it(title, run)
  })
}
