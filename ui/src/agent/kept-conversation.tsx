import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { Bubble } from '../components/bubble.tsx'
import { type ModelMessage, readMessage } from '../components/model-message.ts'
import { Notice } from '../components/notice.tsx'

const READ = `mutation($agent: String!, $module: String!, $user: String, $metadata: JSON) {
  read_conversation(agent_id: $agent, module_id: $module, user: $user, metadata: $metadata)
}`
const DEFAULT_KEY = 'conversation_id'

interface KeptConversationProps {
  readonly agentId: string
  readonly moduleId: string
  readonly config: unknown
}

/** Conversation that a module keeps: found as a request finds it, by user and id. */
export function KeptConversation({ agentId, moduleId, config }: KeptConversationProps) {
  const [user, setUser] = useState('')
  const [conversation, setConversation] = useState('')
  const [messages, setMessages] = useState<readonly ModelMessage[]>()
  const [error, setError] = useState('')
  const key = (config as { metadata_key?: string } | null)?.metadata_key ?? DEFAULT_KEY
  const read = async (event: Event) => {
    event.preventDefault()
    setError('')
    const owner = { user: user || null, metadata: conversation ? { [key]: conversation } : null }
    try {
      const variables = { agent: agentId, module: moduleId, ...owner }
      const answer = await ask<{ read_conversation: unknown[] }>(READ, variables)
      setMessages(answer.read_conversation.map(readMessage))
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <section aria-label="Kept conversation">
      <h3>Kept conversation</h3>
      <form class="tool-form" onSubmit={read}>
        <label class="tool-field">
          <span>User</span>
          <input value={user} onInput={({ currentTarget }) => setUser(currentTarget.value)} />
        </label>
        <label class="tool-field">
          <span>{key}</span>
          <input value={conversation} onInput={({ currentTarget }) => setConversation(currentTarget.value)} />
        </label>
        <button type="submit" class="button">
          Read
        </button>
      </form>
      {error && <Notice kind="bad" title={error} />}
      {messages?.length === 0 && <p class="muted">Nothing is kept under these names.</p>}
      <div class="exchange">
        {messages?.map((message, index) => (
          <Bubble key={index} message={message} />
        ))}
      </div>
    </section>
  )
}
