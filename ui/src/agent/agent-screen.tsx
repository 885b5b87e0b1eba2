import { useQuery } from '../api.ts'
import { Tabs } from '../components/tabs.tsx'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import type { ServerInfo } from '../types.ts'
import { AbsentAgent } from './absent-agent.tsx'
import { AgentHead } from './agent-head.tsx'
import { AGENT_QUERY, type AgentDetails } from './agent-query.ts'
import { Definition } from './definition.tsx'
import { History } from './history.tsx'
import { AgentMemory, AgentTools, keepersOf, providersOf } from './module-sections.tsx'
import { Schedules } from './schedules.tsx'
import { Wiring } from './wiring.tsx'

type View = 'wiring' | 'tools' | 'memory' | 'schedules' | 'definition' | 'history'
const TITLES: Readonly<Record<View, string>> = {
  wiring: 'Wiring',
  tools: 'Tools',
  memory: 'Memory',
  schedules: 'Schedules',
  definition: 'Definition',
  history: 'History',
}

/** One agent: its wiring, and the history of its file. */
export function AgentScreen({ route, server }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { data, error, reload } = useQuery<{ agent_config: AgentDetails }>(AGENT_QUERY, { id })
  useLive('agents', reload)
  useLive('ready', reload)
  const agent = data?.agent_config
  if (agent && !(error && agent.id !== id))
    return <Agent key={agent.id} agent={agent} query={route.query} server={server} />
  return error ? <AbsentAgent id={id} error={error} /> : null
}

interface AgentProps {
  readonly agent: AgentDetails
  readonly query: Readonly<Record<string, string>>
  readonly server: ServerInfo | undefined
}

function Agent({ agent, query, server }: AgentProps) {
  const isDevelopment = server?.development ?? false
  const views = viewsOf(agent, isDevelopment)
  const view = views.find((name) => name === query.view) ?? 'wiring'
  const titles = Object.fromEntries(views.map((name) => [name, TITLES[name]]))
  const show = (changed: Record<string, string>) =>
    go(href(['agents', agent.id], { ...query, ...changed }), { replace: true })
  return (
    <div class="screen">
      <AgentHead agent={agent} canClear={isDevelopment && server?.tracing.is_on === true} />
      <Tabs
        label="Views of the agent"
        titles={titles}
        selected={view}
        onSelect={(name: View) => show({ view: name })}
      />
      {view === 'wiring' && (
        <Wiring
          agent={agent}
          selected={query.module ?? ''}
          isDevelopment={isDevelopment}
          onSelect={(module) => show({ module })}
        />
      )}
      {view === 'tools' && <AgentTools agent={agent} isDevelopment={isDevelopment} />}
      {view === 'memory' && <AgentMemory agent={agent} />}
      {view === 'schedules' && <Schedules agentId={agent.id} />}
      {view === 'definition' && <Definition agent={agent} projectDir={server?.project_dir ?? null} />}
      {view === 'history' && <History agent={agent} />}
    </div>
  )
}

/** Views that have something to show. */
function viewsOf(agent: AgentDetails, isDevelopment: boolean): View[] {
  const hasTools = providersOf(agent, 'ToolProvider').length > 0
  const remembers = providersOf(agent, 'Memory').length + keepersOf(agent).length > 0
  return [
    'wiring',
    ...(hasTools ? (['tools'] as const) : []),
    ...(isDevelopment && remembers ? (['memory'] as const) : []),
    ...(agent.schedules.length > 0 ? (['schedules'] as const) : []),
    'definition',
    'history',
  ]
}
