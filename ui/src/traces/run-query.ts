import { useEffect, useRef, useState } from 'preact/hooks'
import { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { ask } from '../api.ts'
import { useLive, useThrottled } from '../live.ts'
import { EVENT_FIELDS, type EventSummary, RUN_FIELDS, type RunSummary } from '../types.ts'

const PAGE = 5000
const queryOf = (fields: string) => `query($id: String!, $after: String) { run(run_id: $id) {
  ${RUN_FIELDS} neighbours { previous next } below { run_id }
  events(first: ${PAGE}, after: $after, below: true) { cursor has_more elsewhere events { ${fields} } }
} }`

interface Neighbours {
  readonly previous: string | null
  readonly next: string | null
}

interface QueryData {
  readonly run:
    | (RunSummary & {
        readonly neighbours: Neighbours
        readonly below: readonly Pick<RunSummary, 'run_id'>[]
        readonly events: {
          readonly cursor: string | null
          readonly has_more: boolean
          readonly elsewhere: string | null
          readonly events: readonly EventSummary[]
        }
      })
    | null
}

/** A run as it was read so far. */
export interface LoadedRun {
  readonly run: RunSummary
  readonly neighbours: Neighbours
  /** Place of the events that the server that ran it does not give; null otherwise. */
  readonly elsewhere: string | null
  /** One object for the whole run, with the runs below it. */
  readonly tree: CallTree
  /** Grows with the tree. */
  readonly size: number
}

/** Reads one run, with the runs below it, piece by piece. */
class RunReader {
  readonly #id: string
  readonly #query: string
  readonly #tree = new CallTree()
  /** Ids of the run, and of those below it that are known. */
  readonly #ids: Set<string>
  #cursor: string | null = null
  #isReading = false
  #isStale = false
  isLeft = false

  constructor(id: string, hasDigests: boolean) {
    this.#id = id
    this.#query = queryOf(hasDigests ? `${EVENT_FIELDS} digest` : EVENT_FIELDS)
    this.#ids = new Set([id])
  }

  /** Tells whether a run is this one, or below it. */
  has({ run_id, parent_run_id: parent }: RunSummary): boolean {
    if (parent !== null && this.#ids.has(parent)) this.#ids.add(run_id)
    return this.#ids.has(run_id)
  }

  /** Reads on; called while it reads, it reads once more afterwards. @returns null when there is no such run */
  async readOn(onPage: (loaded: LoadedRun | null) => void): Promise<void> {
    this.#isStale = true
    if (this.#isReading) return
    this.#isReading = true
    try {
      for (let isMore = true; isMore && !this.isLeft; ) {
        this.#isStale = false
        const { run } = await ask<QueryData>(this.#query, { id: this.#id, after: this.#cursor })
        if (this.isLeft) return
        onPage(run && this.#take(run))
        isMore = run !== null && (run.events.has_more || this.#isStale)
      }
    } finally {
      this.#isReading = false
    }
  }

  #take({ events: page, neighbours, below, ...run }: NonNullable<QueryData['run']>): LoadedRun {
    for (const { run_id } of below) this.#ids.add(run_id)
    for (const event of page.events) this.#tree.add(event)
    this.#cursor = page.cursor
    return { run, neighbours, elsewhere: page.elsewhere, tree: this.#tree, size: this.#tree.size }
  }
}

/**
 * Reads a run, and keeps reading while it runs. `loaded` is null when there is no such run.
 *
 * @param hasDigests reads what calls are compared by, too
 */
export function useRun(id: string, hasDigests = false): { loaded: LoadedRun | null | undefined; error: string } {
  const [loaded, setLoaded] = useState<LoadedRun | null>()
  const [error, setError] = useState('')
  const reader = useRef<RunReader | undefined>(undefined)
  const readOn = () => {
    reader.current?.readOn(setLoaded).then(
      () => setError(''),
      (failure: Error) => setError(failure.message),
    )
  }
  useEffect(() => {
    const own = new RunReader(id, hasDigests)
    reader.current = own
    setLoaded(undefined)
    readOn()
    return () => {
      own.isLeft = true
    }
  }, [id])
  const readSoon = useThrottled(readOn, 150)
  useLive('runs', (runs) => runs.filter((run) => reader.current?.has(run)).length > 0 && readSoon())
  useLive('ready', readSoon)
  return { loaded, error }
}
