import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { go } from '../router.ts'
import { playAddress } from './play-address.ts'
import type { AgentName } from './play-query.ts'
import type { Column } from './threads.ts'

interface ColumnPickersProps {
  readonly agents: readonly AgentName[]
  readonly columns: readonly Column[]
}

/** Choice of an agent or entry point, and of a second one to compare. A change starts a new thread. */
export function ColumnPickers({ agents, columns }: ColumnPickersProps) {
  const [first, second] = columns
  if (!first) return null
  const open = (...next: Column[]) => go(playAddress(next))
  const rest = second ? [second] : []
  return (
    <>
      <AgentPicker agents={agents} model={first.model} onModel={(model) => open({ ...first, model }, ...rest)} />
      <Temperature column={first} label="Temperature" onChange={(column) => open(column, ...rest)} />
      {second ? (
        <>
          <ModelPicker agents={agents} model={second.model} onModel={(model) => open(first, { ...second, model })} />
          <Temperature column={second} label="Its temperature" onChange={(column) => open(first, column)} />
          <IconButton icon="close" label="End the comparison" onClick={() => open(first)} />
        </>
      ) : (
        <button type="button" class="button" onClick={() => open(first, first)}>
          <Icon name="compare" />
          <span>Compare</span>
        </button>
      )}
    </>
  )
}

interface PickerProps {
  readonly agents: readonly AgentName[]
  readonly model: string
  readonly onModel: (model: string) => void
}

function AgentPicker({ agents, model, onModel }: PickerProps) {
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

function ModelPicker({ agents, model, onModel }: PickerProps) {
  const names = agents.flatMap(({ id, entry_points }) => [id, ...entry_points.map((entry) => `${id}/${entry}`)])
  return (
    <label class="field">
      <span>Beside</span>
      <select value={model} onChange={({ currentTarget }) => onModel(currentTarget.value)}>
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

function Temperature({ column: { model, temperature }, label, onChange }: TemperatureProps) {
  const change = (text: string) => onChange(text === '' ? { model } : { model, temperature: Number(text) })
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="short"
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder="–"
        value={temperature ?? ''}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}
