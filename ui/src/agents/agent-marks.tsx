import { Icon } from '../components/icon.tsx'
import type { AgentSummary } from './agents-query.ts'

/** Models and providers of tools, as small marks. */
export function AgentMarks({ modules }: Pick<AgentSummary, 'modules'>) {
  const models = modules.filter(({ provides }) => provides?.includes('LLM'))
  const tools = modules.filter(({ provides }) => provides?.includes('ToolProvider'))
  if (models.length + tools.length === 0) return null
  return (
    <ul class="marks" aria-label="Models and tools">
      {models.map(({ id, module, model }) => (
        <li key={id} class="mark kind-model" title={`Model: ${module}`}>
          <Icon name="kind-model" />
          {model ?? module}
        </li>
      ))}
      {tools.map(({ id, module }) => (
        <li key={id} class="mark kind-tool" title={`Tools: ${module}`}>
          <Icon name="kind-tool" />
          {id}
        </li>
      ))}
    </ul>
  )
}
