const COLUMNS = [
  { title: 'Question and answer' },
  { title: 'Status', sort: 'status' },
  { title: 'Agent', sort: 'agent_id' },
  { title: 'Model and tools' },
  { title: 'Duration', sort: 'duration_ms', isNumber: true },
  { title: 'Tokens', sort: 'tokens', isNumber: true },
  { title: 'Cost', isNumber: true },
  { title: 'Started', sort: 'started_at', isNumber: true },
] as const
const DEFAULT_SORT = 'started_at'

interface SortHeaderProps {
  /** Empty for the default: newest first. */
  readonly sort: string
  readonly order: string
  readonly onChange: (changed: Record<string, string>) => void
}

/** Header of the runs: a click sorts, another one turns the order round. */
export function SortHeader({ sort, order, onChange }: SortHeaderProps) {
  const current = sort || DEFAULT_SORT
  const isAscending = order === 'asc'
  const choose = (name: string) => {
    const isTurned = name === current && !isAscending
    onChange({ sort: name === DEFAULT_SORT ? '' : name, order: isTurned ? 'asc' : '' })
  }
  return (
    <div class="run-header" role="group" aria-label="Sort runs by">
      {COLUMNS.map((column) => {
        const name = 'sort' in column ? column.sort : undefined
        const isSorted = name === current
        return (
          <span
            key={column.title}
            class={`${'isNumber' in column ? 'run-number' : ''} ${column.title === 'Cost' ? 'run-cost' : ''}`}
          >
            {name ? (
              <button type="button" aria-pressed={isSorted} onClick={() => choose(name)}>
                {column.title}
                {isSorted && <span aria-hidden="true">{isAscending ? ' ↑' : ' ↓'}</span>}
                {isSorted && <span class="hidden">{isAscending ? ', ascending' : ', descending'}</span>}
              </button>
            ) : (
              column.title
            )}
          </span>
        )
      })}
    </div>
  )
}
