import type { AgentDetails } from './agent-query.ts'
import { ModulePanel } from './module-panel.tsx'
import { WiringGraph } from './wiring-graph.tsx'

interface WiringProps {
  readonly agent: AgentDetails
  readonly selected: string
  readonly isDevelopment: boolean
  readonly onSelect: (module: string) => void
}

/** Graph of the modules, and beside it the one that is selected. */
export function Wiring({ agent, selected, isDevelopment, onSelect }: WiringProps) {
  const module = agent.modules.find(({ id }) => id === selected)
  return (
    <div class={module ? 'split' : ''}>
      <section class="panel graph-panel" aria-label="Wiring of the agent">
        <WiringGraph modules={agent.modules} exchange={agent.exchange} selected={selected} onSelect={onSelect} />
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
