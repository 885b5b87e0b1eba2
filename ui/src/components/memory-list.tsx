import { JsonTree } from './json-tree.tsx'

/** Something remembered; with a score where it was searched for. */
export interface MemoryItem {
  readonly text: string
  readonly score?: number
  readonly metadata?: unknown
}

/** Entries of a memory, with their scores. */
export function MemoryList({ items }: { items: readonly MemoryItem[] }) {
  return (
    <ol class="matches">
      {items.map(({ text, score, metadata }, index) => (
        <li key={index}>
          {score !== undefined && (
            <>
              <meter min={0} max={1} value={score} aria-label="Score" /> <b class="figure-text">{score.toFixed(3)}</b>
            </>
          )}
          <p>{text}</p>
          {hasFields(metadata) && <JsonTree value={metadata} label="metadata" />}
        </li>
      ))}
    </ol>
  )
}

function hasFields(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
