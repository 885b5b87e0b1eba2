import { useEffect, useRef, useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { curlSnippet } from '../snippets/client-snippets.ts'
import { streamChat } from './chat.ts'

interface Said {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly runId?: string
  readonly error?: string
  readonly isStopped?: boolean
}

interface AgentChoice {
  readonly id: string
  readonly description: string
  readonly entry_points: readonly string[]
}

export function PlayScreen({ route, server }: ScreenProps) {
  const { data, reload } = useQuery<{ list_agents: AgentChoice[] }>('{ list_agents { id description entry_points } }')
  useLive('agents', reload)
  const agents = data?.list_agents ?? []
  const agent = agents.find(({ id }) => id === route.path[1]) ?? (route.path[1] ? undefined : agents[0])
  const entry = route.query.entry ?? ''
  if (!data) return null
  if (server && !server.adapters.includes('ChatCompatApiAdapter')) {
    return (
      <Empty isPage title="The playground needs the chat adapter">
        It asks agents as any client would. Start the server with <code>--adapter ChatCompatApiAdapter</code>.
      </Empty>
    )
  }
  if (agents.length === 0) {
    return (
      <Empty isPage title="There is no agent to talk to">
        Put a YAML file into <code>agents/</code>.
      </Empty>
    )
  }
  if (!agent)
    return (
      <Empty isPage title={`There is no agent '${route.path[1]}'`}>
        <a href={href(['play'])}>Choose another</a>
      </Empty>
    )
  const model = entry ? `${agent.id}/${entry}` : agent.id
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1>Playground</h1>
        <label class="field">
          <span>Agent</span>
          <select value={agent.id} onChange={({ currentTarget }) => go(href(['play', currentTarget.value]))}>
            {agents.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
        {agent.entry_points.length > 0 && (
          <label class="field">
            <span>Entry point</span>
            <select
              value={entry}
              onChange={({ currentTarget }) => go(href(['play', agent.id], { entry: currentTarget.value }))}
            >
              <option value="">default</option>
              {agent.entry_points.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Conversation
        key={model}
        model={model}
        description={agent.description}
        hasKey={server?.adapters_with_key.includes('ChatCompatApiAdapter') ?? false}
      />
    </div>
  )
}

interface ConversationProps {
  readonly model: string
  readonly description: string
  readonly hasKey: boolean
}

function Conversation({ model, description, hasKey }: ConversationProps) {
  const [said, setSaid] = useState<readonly Said[]>([])
  const [draft, setDraft] = useState('')
  const [key, setKey] = useState('')
  const [running, setRunning] = useState<AbortController>()
  const end = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  useEffect(() => end.current?.scrollIntoView({ block: 'end' }), [said])
  useEffect(() => () => running?.abort(), [running])

  const changeAnswer = (change: (answer: Said) => Said) =>
    setSaid((before) => [...before.slice(0, -1), change(before.at(-1) as Said)])
  const send = async () => {
    const content = draft.trim()
    if (content === '' || running) return
    const messages = [...said.filter((each) => each.content !== ''), { role: 'user' as const, content }]
    const controller = new AbortController()
    setRunning(controller)
    setDraft('')
    setSaid([...said, { role: 'user', content }, { role: 'assistant', content: '' }])
    try {
      await streamChat({
        model,
        messages: messages.map(({ role, content }) => ({ role, content })),
        key,
        signal: controller.signal,
        onText: (text) => changeAnswer((answer) => ({ ...answer, content: answer.content + text })),
        onRun: (runId) => changeAnswer((answer) => (answer.runId ? answer : { ...answer, runId })),
      })
    } catch (error) {
      const { message } = error as Error
      changeAnswer((answer) =>
        controller.signal.aborted ? { ...answer, isStopped: true } : { ...answer, error: message },
      )
    }
    setRunning(undefined)
    input.current?.focus()
  }
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    void send()
  }
  const lastQuestion = draft.trim() || said.findLast(({ role }) => role === 'user')?.content || 'Hello'
  return (
    <div class="chat">
      <div class="chat-log" role="log" aria-label="Conversation" tabIndex={0}>
        {said.length === 0 && (
          <Empty title={`Ask ${model}`}>
            {description || 'What you write goes to the agent through the chat completions API.'}
          </Empty>
        )}
        {said.map((each, index) => (
          <Message key={index} said={each} isRunning={running !== undefined && index === said.length - 1} />
        ))}
        <div ref={end} />
      </div>
      {hasKey && (
        <label class="field chat-key">
          <span>API key of the chat adapter</span>
          <input
            type="password"
            autocomplete="off"
            value={key}
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
        </label>
      )}
      <div class="composer">
        <textarea
          ref={input}
          aria-label={`Message to ${model}`}
          placeholder={`Message to ${model}`}
          rows={2}
          value={draft}
          onInput={({ currentTarget }) => setDraft(currentTarget.value)}
          onKeyDown={submitOnEnter}
        />
        <div class="composer-buttons">
          <CopyButton text={() => curlSnippet({ model, message: lastQuestion, hasKey })} label="Copy as curl" isQuiet />
          {said.length > 0 && !running && (
            <button type="button" class="button" onClick={() => setSaid([])}>
              New
            </button>
          )}
          {running ? (
            <button type="button" class="button primary" onClick={() => running.abort()}>
              <Icon name="stop" />
              <span>Stop</span>
            </button>
          ) : (
            <button type="button" class="button primary" onClick={send} disabled={draft.trim() === ''}>
              <Icon name="send" />
              <span>Send</span>
            </button>
          )}
        </div>
      </div>
    </div>
  )
}

function Message({ said, isRunning }: { said: Said; isRunning: boolean }) {
  const { role, content, runId, error, isStopped } = said
  return (
    <article class={`message ${role}`}>
      <h2>{role === 'user' ? 'You' : 'Agent'}</h2>
      {content !== '' && <div class="message-text">{content}</div>}
      {isRunning && <span class="typing" role="status" aria-label="The agent answers" />}
      {error && <Notice kind="bad" title={error} />}
      {isStopped && <p class="muted">Stopped</p>}
      {runId && (
        <p class="message-foot">
          <a href={href(['runs', runId])}>See the run</a>
        </p>
      )}
    </article>
  )
}
