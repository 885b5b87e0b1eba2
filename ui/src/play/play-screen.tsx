import { Empty } from '../components/notice.tsx'
import { href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { ColumnPickers } from './column-pickers.tsx'
import { Conversation } from './conversation.tsx'
import { readColumns } from './play-address.ts'
import { type AgentName, useAgentChoice, useAgentNames } from './play-query.ts'
import { ThreadList } from './thread-list.tsx'
import { type Column, useThreads } from './threads.ts'

const ADAPTER = 'ResponsesCompatApiAdapter'

/** Conversations with agents. They live in the store of the responses: leaving or reloading the page stops nothing. */
export function PlayScreen({ route: { path, query }, server }: ScreenProps) {
  const agents = useAgentNames()
  if (!agents || !server) return null
  if (!server.adapters.includes(ADAPTER)) return <NoAdapter />
  const agent = path[1] ? agents.find(({ id }) => id === path[1]) : agents[0]
  if (!agent) return <NoAgent wanted={path[1]} />
  return (
    <Playground agents={agents} agentId={agent.id} query={query} hasKey={server.adapters_with_key.includes(ADAPTER)} />
  )
}

interface PlaygroundProps {
  readonly agents: readonly AgentName[]
  readonly agentId: string
  readonly query: Readonly<Record<string, string>>
  readonly hasKey: boolean
}

function Playground({ agents, agentId, query, hasKey }: PlaygroundProps) {
  const threads = useThreads()
  const { thread: threadId = '', draft = '' } = query
  const thread = threads.find(({ id }) => id === threadId)
  const columns = thread?.columns ?? readColumns(agentId, query)
  const agent = useAgentChoice(agentId)
  const accepted = useAccepted(columns)
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1>Playground</h1>
        <ColumnPickers agents={agents} columns={columns} />
      </div>
      <div class="play">
        <ThreadList threads={threads} current={threadId} columns={columns} />
        {agent && (
          <Conversation
            key={`${JSON.stringify(columns)} ${threadId}`}
            agent={agent}
            columns={columns}
            hasKey={hasKey}
            thread={thread}
            draft={draft}
            accepted={accepted}
          />
        )}
      </div>
    </div>
  )
}

/** Media types that every column takes. */
function useAccepted(columns: readonly Column[]): readonly string[] {
  const [first, second] = columns.map(({ model }) => model.split('/')[0] ?? '')
  const one = useAgentChoice(first ?? '')?.attachments ?? []
  const other = useAgentChoice(second ?? first ?? '')?.attachments ?? []
  return one.filter((type) => other.includes(type) || other.includes('*/*'))
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
