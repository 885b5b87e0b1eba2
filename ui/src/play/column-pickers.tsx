import { useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { useMedia } from '../media.ts'
import { type Column, isVaried } from '../responses/column.ts'
import type { AgentName } from './play-query.ts'

/** More columns are too narrow to read. */
const MAX_COLUMNS = 4

interface ColumnPickersProps {
  readonly agents: readonly AgentName[]
  readonly columns: readonly Column[]
  /** Index of the column whose values are shown; undefined while none are. */
  readonly changing: number | undefined
  readonly canChange: boolean
  readonly onColumns: (columns: readonly Column[]) => void
  readonly onChanging: (index: number | undefined) => void
}

/** Choice of those who answer: one agent or entry point, or up to four to compare. Another choice starts a new thread. */
export function ColumnPickers({ agents, columns, changing, canChange, onColumns, onChanging }: ColumnPickersProps) {
  const put = (index: number, column: Column) => onColumns(columns.with(index, column))
  const areSeveral = columns.length > 1
  return (
    <div class="column-picks">
      {columns.map((column, index) => {
        const suffix = areSeveral ? ` of column ${index + 1}` : ''
        return (
          <div key={index} class="column-pick" role="group" aria-label={`Column ${index + 1}`}>
            {index === 0 ? (
              <AgentPicker agents={agents} column={column} onModel={(model) => put(0, { model })} />
            ) : (
              <ModelPicker agents={agents} column={column} index={index} onModel={(model) => put(index, { model })} />
            )}
            <Temperature column={column} label={`Temperature${suffix}`} onChange={(next) => put(index, next)} />
            {canChange && (
              <button
                type="button"
                class="button"
                aria-label={`Change${suffix}`}
                aria-expanded={changing === index}
                onClick={() => onChanging(changing === index ? undefined : index)}
              >
                <Icon name="edit" />
                <span>Change</span>
                {isVaried(column) && <span class="dot" title="Values are changed" />}
              </button>
            )}
            {areSeveral && (
              <IconButton
                icon="close"
                label={columns.length === 2 && index === 1 ? 'End the comparison' : `Remove column ${index + 1}`}
                onClick={() => onColumns(columns.filter((_, each) => each !== index))}
              />
            )}
          </div>
        )
      })}
      {columns.length < MAX_COLUMNS && (
        <button type="button" class="button" onClick={() => onColumns([...columns, ...columns.slice(-1)])}>
          <Icon name="compare" />
          <span>Compare</span>
        </button>
      )}
    </div>
  )
}

interface PickerProps {
  readonly agents: readonly AgentName[]
  readonly column: Column
  readonly onModel: (model: string) => void
}

function AgentPicker({ agents, column: { model }, onModel }: PickerProps) {
  const [id = '', entry = ''] = model.split('/')
  const entries = agents.find((agent) => agent.id === id)?.entry_points ?? []
  return (
    <>
      <label class="field">
        <span>Agent</span>
        <select value={id} onChange={({ currentTarget }) => onModel(currentTarget.value)}>
          {agents.map((agent) => (
            <option key={agent.id}>{agent.id}</option>
          ))}
        </select>
      </label>
      {entries.length > 0 && (
        <label class="field">
          <span>Entry point</span>
          <select value={entry} onChange={({ currentTarget: { value } }) => onModel(value ? `${id}/${value}` : id)}>
            <option value="">default</option>
            {entries.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
    </>
  )
}

function ModelPicker({ agents, column: { model }, index, onModel }: PickerProps & { index: number }) {
  const names = agents.flatMap(({ id, entry_points }) => [id, ...entry_points.map((entry) => `${id}/${entry}`)])
  return (
    <label class="field">
      <span>Compare with</span>
      <select
        aria-label={index === 1 ? 'Compare with' : `Compare with (column ${index + 1})`}
        value={model}
        onChange={({ currentTarget }) => onModel(currentTarget.value)}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

interface TemperatureProps {
  readonly column: Column
  readonly label: string
  readonly onChange: (column: Column) => void
}

function Temperature({ column: { temperature, ...rest }, label, onChange }: TemperatureProps) {
  const isNarrow = useMedia('(max-width: 760px)')
  // Kept until the field is left: a page that renders again meanwhile would empty the field.
  const [typed, setTyped] = useState<string>()
  const change = (text: string) => onChange(text === '' ? rest : { ...rest, temperature: Number(text) })
  return (
    <label class="field">
      <span>Temperature</span>
      <input
        class="short"
        type="number"
        aria-label={label}
        min={0}
        max={2}
        step={0.1}
        placeholder={isNarrow ? 'Temp' : '–'}
        value={typed ?? temperature ?? ''}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => change(currentTarget.value)}
        onBlur={() => setTyped(undefined)}
      />
    </label>
  )
}
