import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

function Chat() {
  const [text, setText] = useState('')
  const { messages, sendMessage, addToolOutput } = useChat({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (toolName !== 'location') return
      const output = Intl.DateTimeFormat().resolvedOptions().timeZone
      addToolOutput({ tool: toolName, toolCallId, output })
    },
  })
  const send = (event) => {
    event.preventDefault()
    sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          <b>{role}</b> {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
        </p>
      ))}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} />
        <button type="submit">Send</button>
      </form>
    </main>
  )
}

createRoot(document.getElementById('root')).render(<Chat />)
