import { useQuery } from '../api.ts'
import { Empty } from '../components/notice.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import type { ServerFacts } from '../types.ts'
import { AgentHead } from './agent-head.tsx'
import { AGENT_QUERY, type AgentDetails } from './agent-query.ts'
import { Definition } from './definition.tsx'
import { History } from './history.tsx'
import { Wiring } from './wiring.tsx'

type View = 'wiring' | 'definition' | 'history'
const VIEWS = [
  { name: 'wiring', title: 'Wiring' },
  { name: 'definition', title: 'Definition' },
  { name: 'history', title: 'History' },
] as const

/** One agent: how it is put together, and what became of its file. */
export function AgentScreen({ route, server }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { data, error, reload } = useQuery<{ agent_config: AgentDetails }>(AGENT_QUERY, { id })
  useLive('agents', reload)
  useLive('ready', reload)
  const agent = data?.agent_config
  if (agent && !(error && agent.id !== id))
    return <Agent key={agent.id} agent={agent} query={route.query} server={server} />
  if (!error) return null
  return (
    <Empty isPage title={error}>
      It may have been renamed or removed. <a href={href(['agents'])}>All agents</a>
    </Empty>
  )
}

interface AgentProps {
  readonly agent: AgentDetails
  readonly query: Readonly<Record<string, string>>
  readonly server: ServerFacts | undefined
}

function Agent({ agent, query, server }: AgentProps) {
  const view = VIEWS.find(({ name }) => name === query.view)?.name ?? 'wiring'
  const isDevelopment = server?.development ?? false
  const show = (changed: Record<string, string>) =>
    go(href(['agents', agent.id], { ...query, ...changed }), { replace: true })
  return (
    <div class="screen">
      <AgentHead agent={agent} canClear={isDevelopment && server?.tracing.is_on === true} />
      <Tabs label="Views of the agent" tabs={VIEWS} selected={view} onSelect={(name: View) => show({ view: name })} />
      {view === 'wiring' && (
        <Wiring
          agent={agent}
          selected={query.module ?? ''}
          isDevelopment={isDevelopment}
          onSelect={(module) => show({ module })}
        />
      )}
      {view === 'definition' && <Definition agent={agent} projectDir={server?.project_dir ?? null} />}
      {view === 'history' && <History loads={agent.loads} />}
    </div>
  )
}
