import type { ListedRun } from '../../trace/run-index/run-row.ts'
import type { RunsTable } from '../../trace/run-index/runs-table.ts'
import type { RunFilter } from '../../trace/run-index/trace-query.ts'

interface ListOptions {
  /** Of the runs, without those that follow another. */
  readonly limit: number
  /** Runs of evals, or all others. */
  readonly isEval: boolean
}

/**
 * The latest runs, newest first. Without a filter, runs that another began follow it, in their order.
 */
export function listRuns(table: RunsTable, filter: RunFilter, { limit, isEval }: ListOptions): ListedRun[] {
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const { runs } = table.list({
    filter: { ...filter, isEval, isTopLevel: !isFiltered },
    first: limit,
    after: undefined,
  })
  if (isFiltered) return [...runs]
  return runs.flatMap((run) => (run.children > 0 ? [run, ...inTreeOrder(run.run_id, table.below(run.run_id))] : [run]))
}

/** Each run after the one that began it. */
function inTreeOrder(parentId: string, below: readonly ListedRun[]): ListedRun[] {
  const children = below.filter(({ parent_run_id }) => parent_run_id === parentId)
  return children.flatMap((child) => [child, ...inTreeOrder(child.run_id, below)])
}
