import { formatTime } from '../format.ts'
import { ConfirmButton } from './confirm-button.tsx'

/** Something remembered; with a score where it was searched for. */
export interface MemoryItem {
  readonly id?: string
  readonly text: string
  readonly score?: number
  readonly metadata?: unknown
}

interface MemoryListProps {
  readonly items: readonly MemoryItem[]
  readonly onDelete?: ((id: string) => void) | undefined
}

/** Entries of a memory, with their scores. */
export function MemoryList({ items, onDelete }: MemoryListProps) {
  return (
    <ol class="matches">
      {items.map(({ id, text, score, metadata }, index) => (
        <li key={id ?? index}>
          {score !== undefined && (
            <>
              <meter min={0} max={1} value={score} aria-label="Score" /> <b class="figure-text">{score.toFixed(3)}</b>
            </>
          )}
          <p>{text}</p>
          {hasFields(metadata) && <Facts of={metadata} />}
          {id !== undefined && onDelete && (
            <ConfirmButton
              icon="close"
              label="Delete"
              question={`Delete "${shorten(text)}" for good?`}
              onConfirm={() => onDelete(id)}
            />
          )}
        </li>
      ))}
    </ol>
  )
}

function Facts({ of: metadata }: { of: object }) {
  return (
    <p class="facts muted matches-facts">
      {Object.entries(metadata).map(([name, value]) => (
        <span key={name}>
          {name.replaceAll('_', ' ')}: {formatFact(value)}
        </span>
      ))}
    </p>
  )
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function formatFact(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? formatTime(Date.parse(value) / 1000) : value
}

function hasFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
