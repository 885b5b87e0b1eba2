import { useRef } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { Choice } from '../components/choice.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { STATUS_TEXTS } from '../components/status.tsx'
import { formatTime, shortVersion } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { useKeyHint } from '../media.ts'
import { EVENT_TYPES, type RunStatus } from '../types.ts'
import { FILTERS, RANGES } from './run-filter.ts'

const MAX_MODULES = 200
/** Delay for typed text. */
const TYPING_MS = 250
const NAMES: Readonly<Record<string, string>> = { ...FILTERS, agent: 'agent', type: 'event', range: 'time' }

interface RunsFiltersProps {
  readonly query: Readonly<Record<string, string>>
  readonly onChange: (changed: Record<string, string>) => void
}

/** Filters of the runs, and as chips those that are set. */
export function RunsFilters({ query, onChange }: RunsFiltersProps) {
  const { data } = useQuery<{ list_agents: { id: string; modules: { id: string }[] }[] }>(
    '{ list_agents { id modules { id } } }',
  )
  const agents = data?.list_agents ?? []
  const chosen = agents.filter(({ id }) => !query.agent || id === query.agent)
  const modules = [...new Set(chosen.flatMap((agent) => agent.modules.map(({ id }) => id)))].slice(0, MAX_MODULES)
  const agentIds = agents.map(({ id }) => id)
  return (
    <>
      <search class="filters" aria-label="Filter runs">
        <TypedText value={query.text} onChange={(text) => onChange({ text })} />
        <Choice
          name="Agent"
          value={query.agent}
          options={agentIds}
          onChange={(agent) => onChange({ agent, module: '' })}
        />
        <Choice
          name="Status"
          value={query.status}
          options={Object.keys(STATUS_TEXTS)}
          texts={STATUS_TEXTS}
          onChange={(status) => onChange({ status })}
        />
        <TimeRange value={query.range} onChange={(range) => onChange({ range, since: '', until: '' })} />
        <Choice name="Event" value={query.type} options={EVENT_TYPES} onChange={(type) => onChange({ type })} />
        <Choice name="Module" value={query.module} options={modules} onChange={(module) => onChange({ module })} />
        <Typed name="User" value={query.user} onChange={(user) => onChange({ user })} />
      </search>
      <Chips query={query} onChange={onChange} />
    </>
  )
}

function TimeRange({ value = '', onChange }: { value: string | undefined; onChange: (value: string) => void }) {
  return (
    <label class="field">
      <span class="hidden">Time</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">Any time</option>
        {Object.entries(RANGES).map(([name, { title }]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  )
}

function Chips({ query, onChange }: RunsFiltersProps) {
  const given = [...Object.keys(FILTERS), 'range'].filter((name) => query[name])
  if (given.length === 0) return null
  const clear = () => onChange(Object.fromEntries(given.map((name) => [name, ''])))
  return (
    <ul class="chips" aria-label="Filters that are set">
      {given.map((name) => (
        <li key={name} class="chip">
          {NAMES[name]?.replace('_', ' ')}: <b>{showValue(name, query[name] ?? '')}</b>
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => onChange({ [name]: '' })} />
        </li>
      ))}
      <li>
        <button type="button" class="link" onClick={clear}>
          Clear
        </button>
      </li>
    </ul>
  )
}

function showValue(name: string, value: string): string {
  if (name === 'range') return RANGES[value]?.title.toLowerCase() ?? value
  if (name === 'evals') return 'only'
  if (name === 'conversation') return value.slice(0, 13)
  if (name === 'version') return shortVersion(value)
  if (name === 'status') return STATUS_TEXTS[value as RunStatus] ?? value
  return name === 'since' || name === 'until' ? formatTime(Number(value)) : value
}

interface TypedProps {
  readonly name: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}

function TypedText({ value, onChange }: Omit<TypedProps, 'name'>) {
  useShortcuts({ '/': () => document.querySelector<HTMLElement>('.filters input')?.focus() })
  return <Typed name="Text" hint={useKeyHint('Search runs', '/')} value={value} onChange={onChange} />
}

function Typed({ name, hint = name, value = '', onChange }: TypedProps & { readonly hint?: string }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const later = (text: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onChange(text), TYPING_MS)
  }
  return (
    <label class="field">
      <span class="hidden">{name}</span>
      <input
        type="search"
        placeholder={hint}
        value={value}
        onInput={({ currentTarget }) => later(currentTarget.value)}
      />
    </label>
  )
}
