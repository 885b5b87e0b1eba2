import type { ComponentChildren } from 'preact'
import type { AgentDetails, ModuleDetails } from './agent-query.ts'
import { KeptConversation } from './kept-conversation.tsx'
import { MemoryView } from './memory-view.tsx'
import { ModuleTools } from './module-tools.tsx'
import { useToolFigures } from './tool-figures.ts'

interface ModuleSectionsProps {
  readonly agent: AgentDetails
  /** True under `agent-host dev`: the page may call tools, and show stored data. */
  readonly isDevelopment: boolean
}

/** Tools of an agent, by the module that provides them. */
export function AgentTools({ agent, isDevelopment }: ModuleSectionsProps) {
  const figures = useToolFigures(agent.id)
  return (
    <div class="module-sections">
      {providersOf(agent, 'ToolProvider').map((module) => (
        <Section key={module.id} module={module}>
          <ModuleTools
            agentId={agent.id}
            moduleId={module.id}
            tools={module.tools}
            canCall={isDevelopment}
            figures={figures}
          />
        </Section>
      ))}
    </div>
  )
}

/** Memories of an agent, and the conversations that its modules keep. */
export function AgentMemory({ agent }: Pick<ModuleSectionsProps, 'agent'>) {
  return (
    <div class="module-sections">
      {providersOf(agent, 'Memory').map((module) => (
        <Section key={module.id} module={module}>
          <MemoryView agentId={agent.id} moduleId={module.id} />
        </Section>
      ))}
      {keepersOf(agent).map((module) => (
        <Section key={module.id} module={module}>
          <KeptConversation agentId={agent.id} moduleId={module.id} config={module.config} />
        </Section>
      ))}
    </div>
  )
}

/** Modules of an agent that provide a protocol. */
export function providersOf({ modules }: AgentDetails, protocol: string): readonly ModuleDetails[] {
  return modules.filter(({ provides }) => provides.includes(protocol))
}

/** Modules that save conversations. A stage, which captures the answers of others, saves none. */
export function keepersOf(agent: AgentDetails): readonly ModuleDetails[] {
  return providersOf(agent, 'ConversationHistory').filter(({ provides }) => !provides.includes('OutputCapture'))
}

function Section({
  module: { id, module, description },
  children,
}: {
  module: ModuleDetails
  children: ComponentChildren
}) {
  return (
    <section class="panel side">
      <div class="panel-head">
        <h2>{id}</h2>
        <code class="muted">{module}</code>
      </div>
      <p class="muted">{description}</p>
      {children}
    </section>
  )
}
