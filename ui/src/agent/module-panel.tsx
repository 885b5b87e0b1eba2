import { IconButton } from '../components/icon-button.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import type { ExchangeRow } from '../graph/graph-layout.ts'
import { useShortcuts } from '../keyboard.ts'
import { href } from '../router.ts'
import type { ModuleDetails } from './agent-query.ts'
import { KeptConversation } from './kept-conversation.tsx'
import { MemoryView } from './memory-view.tsx'
import { ModuleTools } from './module-tools.tsx'
import { useToolFigures } from './tool-figures.ts'

const SOURCES: Readonly<Record<string, string>> = {
  library: 'from the library',
  ejected: "the project's own copy of the library's module",
  project: "the project's own",
  package: 'from a package',
}

interface ModulePanelProps {
  readonly module: ModuleDetails
  readonly exchange: readonly ExchangeRow[]
  readonly agentId: string
  /** True under `agent-host dev`: the page may call tools, and show stored data. */
  readonly isDevelopment: boolean
  readonly onClose: () => void
}

/** One module: its origin, its data, and a way to use it alone. */
export function ModulePanel({ module, exchange, agentId, isDevelopment, onClose }: ModulePanelProps) {
  const { id, description, provides, tools, config } = module
  const figures = useToolFigures(agentId)
  useShortcuts({ Escape: onClose })
  return (
    <aside class="panel side" aria-label={`Module ${id}`}>
      <div class="panel-head">
        <h2>{id}</h2>
        <span class={`badge source-${module.source}`}>{module.source}</span>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
      </div>
      <p>{description}</p>
      <Facts module={module} used={exchange.filter((row) => row.module === id)} />
      <p>
        <a href={href(['runs'], { agent: agentId, module: id })}>Runs</a> ·{' '}
        <a href={href(['metrics'], { agent: agentId, module: id })}>Metrics</a>
      </p>
      {Object.keys(config ?? {}).length > 0 && (
        <>
          <h3>Config</h3>
          <JsonTree value={config} label="config" />
        </>
      )}
      {provides.includes('ToolProvider') && (
        <>
          <h3>Tools</h3>
          <ModuleTools agentId={agentId} moduleId={id} tools={tools} canCall={isDevelopment} figures={figures} />
        </>
      )}
      {isDevelopment && provides.includes('Memory') && <MemoryView agentId={agentId} moduleId={id} />}
      {isDevelopment && provides.includes('ConversationHistory') && (
        <KeptConversation agentId={agentId} moduleId={id} config={config} />
      )}
    </aside>
  )
}

function Facts({ module, used }: { module: ModuleDetails; used: readonly ExchangeRow[] }) {
  return (
    <dl class="facts-list">
      <dt>Module</dt>
      <dd>
        <code>{module.module}</code> <span class="muted">{SOURCES[module.source]}</span>
      </dd>
      <dt>Class</dt>
      <dd>
        <code>{module.module_class}</code>
      </dd>
      <dt>Scope</dt>
      <dd>{module.scope === 'agent' ? 'agent: one, shared by all runs' : 'instance: one for each run'}</dd>
      <dt>Provides</dt>
      <dd>{module.provides.join(', ') || '–'}</dd>
      <dt>Uses</dt>
      <dd>
        {used.length === 0
          ? '–'
          : used.map(({ protocol, provider, fieldName }) => (
              <div key={`${fieldName} ${provider}`}>
                {protocol} <span class="muted">from</span> <code>{provider}</code>
              </div>
            ))}
      </dd>
    </dl>
  )
}
