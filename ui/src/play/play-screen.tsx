import { useQuery } from '../api.ts'
import { Empty } from '../components/notice.tsx'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { Conversation } from './conversation.tsx'
import { ThreadList } from './thread-list.tsx'
import { useThreads } from './threads.ts'

const ADAPTER = 'ResponsesCompatApiAdapter'

interface AgentChoice {
  readonly id: string
  readonly description: string
  readonly entry_points: readonly string[]
}

/** Conversations with agents. They live in the store of the responses: leaving or reloading the page stops nothing. */
export function PlayScreen({ route: { path, query }, server }: ScreenProps) {
  const { data, reload } = useQuery<{ list_agents: AgentChoice[] }>('{ list_agents { id description entry_points } }')
  useLive('agents', reload)
  const threads = useThreads()
  if (!data || !server) return null
  const agents = data.list_agents
  const agent = path[1] ? agents.find(({ id }) => id === path[1]) : agents[0]
  if (!server.adapters.includes(ADAPTER)) return <NoAdapter />
  if (!agent) return <NoAgent wanted={path[1]} />
  const { entry = '', thread: threadId = '', draft = '' } = query
  const model = entry ? `${agent.id}/${entry}` : agent.id
  const thread = threads.find(({ id }) => id === threadId)
  return (
    <div class="screen fill">
      <AgentPicker agents={agents} agent={agent} entry={entry} />
      <div class="play">
        <ThreadList threads={threads} current={threadId} agent={agent.id} entry={entry} />
        <Conversation
          key={`${model} ${threadId}`}
          model={model}
          description={agent.description}
          hasKey={server.adapters_with_key.includes(ADAPTER)}
          thread={thread}
          draft={draft}
        />
      </div>
    </div>
  )
}

interface AgentPickerProps {
  readonly agents: readonly AgentChoice[]
  readonly agent: AgentChoice
  readonly entry: string
}

function AgentPicker({ agents, agent, entry }: AgentPickerProps) {
  return (
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
  )
}

function NoAdapter() {
  return (
    <Empty isPage title="The playground needs the responses adapter">
      Its conversations are stored responses. Start the server with <code>agent-host dev</code> or{' '}
      <code>--adapter {ADAPTER}</code>.
    </Empty>
  )
}

function NoAgent({ wanted }: { wanted: string | undefined }) {
  if (wanted === undefined) {
    return (
      <Empty isPage title="There is no agent to talk to">
        Put a YAML file into <code>agents/</code>, or run <code>agent-host new agent hello</code>.
      </Empty>
    )
  }
  return (
    <Empty isPage title={`There is no agent '${wanted}'`}>
      <a href={href(['play'])}>Choose another</a>
    </Empty>
  )
}
