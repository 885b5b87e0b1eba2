import { useEffect, useRef, useState } from 'preact/hooks'
import type { VariantChange } from '../../../src/wire/variant.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { EditorLink } from '../components/editor-link.tsx'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { Tabs } from '../components/tabs.tsx'
import { AskButton } from '../questions/ask-button.tsx'
import { type Column, isVaried, requestedChanges } from '../responses/column.ts'
import type { ServerInfo } from '../types.ts'
import { settle, variablesOf, withChanges } from './changes.ts'
import { DefinitionEditor } from './definition-editor.tsx'
import { type AgentChoice, type CalledAgent, useCalledAgents } from './play-query.ts'
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
function ofCalled(column: Column): VariantChange[] {
  return requestedChanges(column).filter(({ agent }) => agent !== undefined)
}

/** Ids of the agents of which there is a version that was not there when the panel was opened. */
function useChanged(agents: readonly CalledAgent[]): readonly string[] {
  const opened = useRef(new Map<string, string>()).current
  for (const { id, version } of agents) if (!opened.has(id)) opened.set(id, version)
  return agents.flatMap(({ id, version }) => (opened.get(id) === version ? [] : id))
}

/** Values of the agent behind a column, and of the agents that it calls, to change and try again. */
export function ChangePanel({
  agent,
  server,
  column: given,
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
  const variables = variablesOf(agent, called)
  const column = settle(given, variables)
  const agents = [agent, ...called]
  const changed = useChanged(agents)
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
  const changes = requestedChanges(column)
  const files = agents.filter(({ id }) => changes.some(({ agent: owner = agent.id }) => owner === id))
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
      {changed.length > 0 && !isOutdated && (
        <Notice kind="info" title={`${changed.join(' and ')} changed: the values here are the new ones.`}>
          Runs so far are of the version before.
        </Notice>
      )}
      {checked.error !== '' && <Notice kind="bad" title={checked.error} />}
      {server.takes_definitions && agent.definition !== null && (
        <Tabs label="Ways to change" titles={VIEWS} selected={view} onSelect={setView} />
      )}
      {view === 'values' ? (
        <VariableFields
          variables={variables}
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
            label={`Write into ${(files.length > 0 ? files : [agent]).map(({ file }) => file).join(', ')}`}
            request={{ action: 'change_agent', agent_id: agent.id, changes }}
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
