import { useEffect, useState } from 'preact/hooks'
import type { VariantChange } from '../../../src/wire/variant.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { EditorLink } from '../components/editor-link.tsx'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { Tabs } from '../components/tabs.tsx'
import { AskButton } from '../questions/ask-button.tsx'
import { type Column, isVaried } from '../responses/column.ts'
import type { ServerInfo } from '../types.ts'
import { variablesOf, withChanges } from './changes.ts'
import { DefinitionEditor } from './definition-editor.tsx'
import { type AgentChoice, useCalledAgents } from './play-query.ts'
import { useVariant } from './use-variant.ts'
import { VariableFields } from './variable-fields.tsx'

const VIEWS = { values: 'Values', definition: 'YAML' } as const

interface ChangePanelProps {
  readonly agent: AgentChoice
  readonly server: Pick<ServerInfo, 'project_dir' | 'takes_definitions'>
  readonly column: Column
  /** Of the column, where there are several. */
  readonly title: string
  /** True when there is something to compare with. */
  readonly canCompare: boolean
  readonly onColumn: (column: Column) => void
  readonly onCompare: () => void
  readonly onClose: () => void
}

/** Changes that the text of the agent does not hold: those of the agents that it calls. */
function ofCalled({ changes = [] }: Column): VariantChange[] {
  return changes.filter(({ agent }) => agent !== undefined)
}

/** Values of the agent behind a column, and of the agents that it calls, to change and try again. */
export function ChangePanel({
  agent,
  server,
  column,
  title,
  canCompare,
  onColumn,
  onCompare,
  onClose,
}: ChangePanelProps) {
  const [view, setView] = useState<keyof typeof VIEWS>('values')
  /** The whole text, while it is what was edited last. */
  const [text, setText] = useState<string>()
  const called = useCalledAgents(agent.id)
  const checked = useVariant(column, text)
  const { variant } = checked
  useEffect(() => {
    if (text !== undefined && variant?.definition === text)
      onColumn(withChanges(column, [...variant.changes, ...ofCalled(column)], agent.version))
  }, [variant])
  const change = (next: Column) => {
    setText(undefined)
    onColumn(next)
  }
  const isOutdated = checked.isOutdated || (isVaried(column) && column.version !== agent.version)
  const reset = () => change(withChanges(column, [], agent.version))
  const takeNew = () => change(withChanges({ ...column, version: agent.version }, column.changes ?? [], agent.version))
  const shown = variant?.definition ?? agent.definition ?? ''
  return (
    <aside class="panel change-panel" aria-label="Change">
      <div class="panel-head">
        <h2>{title}</h2>
        <IconButton icon="close" label="Close the changes" onClick={onClose} />
      </div>
      {isOutdated && (
        <Notice kind="warn" title="The agent changed meanwhile.">
          <button type="button" class="button" onClick={takeNew}>
            Take its new text
          </button>
        </Notice>
      )}
      {checked.error !== '' && <Notice kind="bad" title={checked.error} />}
      {server.takes_definitions && agent.definition !== null && (
        <Tabs label="Ways to change" titles={VIEWS} selected={view} onSelect={setView} />
      )}
      {view === 'values' ? (
        <VariableFields
          variables={variablesOf(agent, called)}
          column={column}
          version={agent.version}
          problems={checked.problems}
          onColumn={change}
          onSubmit={() => canCompare && isVaried(column) && onCompare()}
        />
      ) : (
        <DefinitionEditor text={text ?? shown} checked={checked} onText={setText} />
      )}
      <p class="muted">No file changes while you try. To keep a change, put it into the file.</p>
      <div class="change-buttons">
        <button type="button" class="button primary" onClick={onCompare} disabled={!canCompare || !isVaried(column)}>
          <Icon name="compare" />
          <span>Compare with the original</span>
        </button>
        <button type="button" class="button" onClick={reset} disabled={!isVaried(column)}>
          Reset all
        </button>
        {agent.file !== null && (
          <AskButton
            label={`Write into ${agent.file}`}
            request={{ action: 'change_agent', agent_id: agent.id, changes: [...(column.changes ?? [])] }}
            isDisabled={!isVaried(column)}
          />
        )}
        <EditorLink projectDir={server.project_dir} file={agent.file} />
        {agent.definition !== null && (variant || !isVaried(column)) && (
          <CopyButton text={text ?? shown} label="Copy YAML" />
        )}
      </div>
    </aside>
  )
}
