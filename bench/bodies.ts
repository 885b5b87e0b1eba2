/** Bodies of requests to the project of the bench. */

export const CHAT = '/compat/chat/completions'
export const RESPONSES = '/compat/responses'

const question = 'What is the time in Tokyo, and why?'
export const QUESTION = { role: 'user', content: question }

export const chat = (fields: object) => ({ model: 'twenty', messages: [QUESTION], ...fields })

export const response = (fields: object) => ({ model: 'twenty', input: question, ...fields })

export const callTool = (name: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { message: question } },
})

export const LIST_AGENTS = { query: '{ list_agents { id } }' }
