import { HttpAgent } from '@ag-ui/client'

const agent = new HttpAgent({ url: 'http://127.0.0.1:9001/ag-ui/example' })
const tools = [{ name: 'location', description: 'Tells where the user is.', parameters: { type: 'object' } }]

async function run(resume) {
  await agent.runAgent({ tools, resume })
  const answers = agent.pendingInterrupts.map(({ id, message }) => ({
    interruptId: id,
    status: 'resolved',
    payload: { approved: confirm(message) },
  }))
  if (answers.length > 0) return run(answers)
  const done = new Set(agent.messages.map(({ toolCallId }) => toolCallId))
  const calls = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls).filter(({ id }) => !done.has(id))
  for (const { id } of calls) {
    const content = Intl.DateTimeFormat().resolvedOptions().timeZone
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: id, content })
  }
  if (calls.length > 0) await run()
}

agent.subscribe({
  onMessagesChanged({ messages }) {
    const shown = messages.filter(({ role, content }) => content && (role === 'user' || role === 'assistant'))
    document.querySelector('main').innerText = shown.map(({ role, content }) => `${role}: ${content}`).join('\n')
  },
})

document.forms[0].onsubmit = async (event) => {
  event.preventDefault()
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: event.target.elements.text.value })
  await run()
}
