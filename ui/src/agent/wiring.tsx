import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { Status } from '../components/status.tsx'
import { formatTime } from '../format.ts'
import { graphOf } from '../graph/graph-of-agent.ts'
import { GraphView } from '../graph/graph-view.tsx'
import { openModule, RunFlow } from '../graph/run-flow.tsx'
import { useLive } from '../live.ts'
import { href } from '../router.ts'
import { useRun } from '../traces/run-query.ts'
import type { AgentDetails } from './agent-query.ts'
import { ModulePanel } from './module-panel.tsx'

interface WiringProps {
  readonly agent: AgentDetails
  readonly selected: string
  readonly isDevelopment: boolean
  readonly onSelect: (module: string) => void
}

/** Graph of the modules with the latest run that flows through it, and beside it the module that is selected. */
export function Wiring({ agent, selected, isDevelopment, onSelect }: WiringProps) {
  const module = agent.modules.find(({ id }) => id === selected)
  const runId = useLatestRun(agent.id)
  const shared = { ...graphOf(agent), selected, onSelect }
  return (
    <div class={module ? 'split' : ''}>
      <section class="panel graph-panel" aria-label="Wiring of the agent">
        {runId ? (
          <LatestRun key={runId} id={runId} {...shared} />
        ) : (
          <GraphView {...shared} onSelect={(id) => openModule(id, onSelect)} flow={undefined} />
        )}
      </section>
      {module && (
        <ModulePanel
          key={module.id}
          module={module}
          exchange={agent.exchange}
          agentId={agent.id}
          isDevelopment={isDevelopment}
          onClose={() => onSelect('')}
        />
      )}
    </div>
  )
}

const LATEST = 'query($id: String!) { runs(filter: { agent_id: $id }, first: 20) { runs { run_id input } } }'

/** Id of the run that began last; one that begins takes its place. Calls of single tools are no runs through the graph. */
function useLatestRun(agentId: string): string | undefined {
  const { data } = useQuery<{ runs: { runs: readonly { run_id: string; input: string }[] } }>(LATEST, { id: agentId })
  const [begun, setBegun] = useState<string>()
  useLive('runs', (runs) => {
    const latest = runs.findLast(
      ({ agent_id, status, input }) => agent_id === agentId && status === 'running' && input !== '',
    )
    if (latest) setBegun(latest.run_id)
  })
  return begun ?? data?.runs.runs.find(({ input }) => input !== '')?.run_id
}

type LatestRunProps = Omit<Parameters<typeof RunFlow>[0], 'loaded'> & { readonly id: string }

function LatestRun({ id, ...graph }: LatestRunProps) {
  const { loaded } = useRun(id)
  if (!loaded) return <GraphView {...graph} onSelect={(id) => openModule(id, graph.onSelect)} flow={undefined} />
  const { run } = loaded
  return (
    <>
      <div class="graph-run">
        <p class="facts dotted">
          <Status status={run.status} incomplete={run.incomplete} />
          <span class="graph-question">{run.input || 'Called without a text'}</span>
          <span class="muted">{formatTime(run.started_at)}</span>
          <a href={href(['runs', id], { view: 'graph' })}>View the run</a>
        </p>
      </div>
      <RunFlow loaded={loaded} {...graph} />
    </>
  )
}
