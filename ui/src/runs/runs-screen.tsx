import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { currentQuery, readFilter } from './run-filter.ts'
import { RunList } from './run-list.tsx'
import { RunsFilters } from './runs-filters.tsx'

/** Every run, as it happens. */
export function RunsScreen({ route: { query }, server }: ScreenProps) {
  const change = (changed: Record<string, string>) =>
    go(href(['runs'], { ...currentQuery(), ...changed }), { replace: true })
  const { since, ...filter } = readFilter(query)
  // A range counts from now: it is the range that makes another list, not the second.
  const key = JSON.stringify([filter, query.range ?? since, query.sort, query.order])
  return (
    <div class="screen fill">
      <div class="screen-head">
        <h1>Runs</h1>
      </div>
      <RunsFilters query={query} onChange={change} />
      <RunList key={key} query={query} onChange={change} hasServer={server?.shares_runs === true} />
    </div>
  )
}
