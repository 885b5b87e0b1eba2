import { formatDuration } from '../../../src/wire/format-duration.ts'
import { JsonTree } from '../components/json-tree.tsx'
import { plural } from '../format.ts'
import { href } from '../router.ts'
import type { Numbers } from '../types.ts'
import type { Tool } from './agent-query.ts'
import { ToolForm } from './tool-form.tsx'

const APPROVALS = { always: 'needs approval', sometimes: 'may need approval' } as const

interface ModuleToolsProps {
  readonly agentId: string
  readonly moduleId: string
  readonly tools: readonly Tool[] | null
  readonly canCall: boolean
  /** By the name of the tool; none for one that was not called. */
  readonly figures: ReadonlyMap<string, Numbers>
}

/** Tools of a module, each with a form that calls it alone. */
export function ModuleTools({ agentId, moduleId, tools, canCall, figures }: ModuleToolsProps) {
  return (
    <>
      {!tools && (
        <p class="muted">
          They appear after the first run that lists them. <a href={href(['play', agentId])}>Ask the agent</a>
        </p>
      )}
      {tools?.map(({ name, description, parameters, is_changed, approval }) => (
        <details class="tool" key={name}>
          <summary>
            <code>{name}</code> <span class="muted">{description.split('\n', 1)[0]}</span>
            {approval && <span class="badge warn">{APPROVALS[approval]}</span>}
            <ToolFigures numbers={figures.get(name)} />
            {is_changed && <span class="badge bad">description changed</span>}
          </summary>
          {is_changed && (
            <p class="muted">Its server describes it otherwise than at first. Read it again before you trust it.</p>
          )}
          {description.includes('\n') && <p class="pre">{description}</p>}
          <JsonTree value={parameters} label={`parameters of ${name}`} />
          {canCall && <ToolForm agentId={agentId} moduleId={moduleId} name={name} parameters={parameters} />}
        </details>
      ))}
    </>
  )
}

/** Calls of a tool in the last days, those that failed, and their time. */
function ToolFigures({ numbers }: { numbers: Numbers | undefined }) {
  if (!numbers) return null
  return (
    <span class="facts dotted tool-figures">
      <span>{plural(numbers.count, 'call')}</span>
      {numbers.errors > 0 && <span class="bad-text">{numbers.errors} failed</span>}
      {numbers.rejected > 0 && <span>{numbers.rejected} rejected</span>}
      <span>p95 {formatDuration(numbers.p95_ms)}</span>
    </span>
  )
}
