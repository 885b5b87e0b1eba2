import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useLive } from '../live.ts'
import { RUN_FIELDS, type RunSummary } from '../types.ts'
import { mayMatch, readFilter } from './run-filter.ts'

const PAGE = 100
const QUERY = `query($filter: RunFilter, $after: String, $sort: String, $ascending: Boolean) {
  runs(filter: $filter, first: ${PAGE}, after: $after, sort: $sort, ascending: $ascending) { total cursor runs { ${RUN_FIELDS} below { ${RUN_FIELDS} } } }
}`

/** Run with those that it began, and that these began. */
export type RunTree = RunSummary & { readonly below: readonly RunSummary[] }

interface Page {
  readonly runs: Listed
}

interface Listed {
  readonly runs: readonly RunTree[]
  readonly total: number
  readonly cursor: string | null
}

/**
 * Reads the runs of one query of the address, page by page. New runs are counted and held back, so that rows never move. Without a
 * filter, runs that another began stand below it.
 */
export function useRuns(query: Readonly<Record<string, string>>) {
  const filter = useMemo(() => readFilter(query), [])
  const isFiltered = Object.keys(filter).length > 0
  const [listed, setListed] = useState<Listed>()
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const [error, setError] = useState('')
  const isLoading = useRef(false)
  const load = async (after: string | null) => {
    if (isLoading.current) return
    isLoading.current = true
    try {
      const variables = {
        filter: isFiltered ? filter : { top_level: true },
        after,
        sort: query.sort || null,
        ascending: query.order === 'asc',
      }
      const page = (await ask<Page>(QUERY, variables)).runs
      setListed((before) => (after === null ? page : { ...page, runs: [...(before?.runs ?? []), ...page.runs] }))
      if (after === null) setFresh(new Set())
      setError('')
    } catch (failure) {
      setError((failure as Error).message)
    } finally {
      isLoading.current = false
    }
  }
  useEffect(() => void load(null), [])
  useLive('runs', (changed) => {
    const known = new Set(listed?.runs.map(({ run_id }) => run_id))
    setListed((before) => before && { ...before, runs: before.runs.map((run) => withChanges(run, changed)) })
    const isListed = ({ run_id, parent_run_id }: RunSummary) =>
      known.has(run_id) || (!isFiltered && parent_run_id !== null)
    const unknown = changed.filter((run) => !isListed(run) && mayMatch(run, filter))
    // The first rows of an empty list disturb nobody.
    if (unknown.length > 0 && listed?.runs.length === 0) void load(null)
    else if (unknown.length > 0) setFresh((before) => new Set([...before, ...unknown.map(({ run_id }) => run_id)]))
  })
  return {
    listed,
    fresh,
    error,
    isFiltered,
    loadFirst: () => void load(null),
    loadMore: () => listed?.cursor && void load(listed.cursor),
  }
}

/** The run as it is now, with the runs below it that have begun or changed; itself where none has. */
function withChanges(run: RunTree, changed: readonly RunSummary[]): RunTree {
  const own = changed.find(({ run_id }) => run_id === run.run_id)
  const below = new Map(run.below.map((each) => [each.run_id, each]))
  const isBelow = ({ run_id, parent_run_id: parent }: RunSummary) =>
    below.has(run_id) || (parent !== null && (parent === run.run_id || below.has(parent)))
  const news = changed.filter((each) => {
    const isNews = isBelow(each)
    if (isNews) below.set(each.run_id, each)
    return isNews
  })
  return own || news.length > 0 ? { ...run, ...own, below: [...below.values()] } : run
}

/** Row of the list: a run, and how many others around it began it. */
export interface RunListRow {
  readonly run: RunSummary
  readonly depth: number
  /** Number of the runs below a run that may be opened; 0 for any other. */
  readonly below: number
}

/** The rows of the list: below a run that is open, those that it began, each after its parent. */
export function listRows(runs: readonly RunTree[], open: ReadonlySet<string>): RunListRow[] {
  return runs.flatMap(({ below, ...run }) => {
    const row = { run, depth: 0, below: below.length }
    return open.has(run.run_id) ? [row, ...inTreeOrder(run.run_id, below, 1)] : [row]
  })
}

function inTreeOrder(parent: string, below: readonly RunSummary[], depth: number): RunListRow[] {
  const children = below.filter(({ parent_run_id }) => parent_run_id === parent)
  return children.flatMap((run) => [{ run, depth, below: 0 }, ...inTreeOrder(run.run_id, below, depth + 1)])
}
