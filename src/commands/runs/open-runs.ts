import { readRemoteEvents, remoteTape } from '../../replicas/read-remote.ts'
import { describeSkipped, RunFeed } from '../../replicas/run-feed.ts'
import { isRemote, openStore, type StoreLocation } from '../../store/open-store.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { claimFormat } from '../../store/store-format.ts'
import type { RemoteTape } from '../../trace/remote-runs.ts'
import type { RunSummary } from '../../trace/run-columns.ts'
import type { EventsPage, EventsQuery } from '../../trace/run-index/trace-query.ts'
import type { TraceReader } from '../../trace/trace-reader.ts'
import { printError } from '../terminal/print-error.ts'
import { openReader } from './open-reader.ts'

/** Runs of a project, and of the servers that share its store. */
export interface OpenRuns {
  readonly reader: TraceReader
  /** True where those of other servers are among them. */
  readonly isShared: boolean
  /** Events of a run, or beside none, in words, where they are. */
  events(run: RunSummary, query: EventsQuery): Promise<EventsPage & { readonly elsewhere: string | null }>
  /** Tape of a run as the server that ran it has it; undefined where servers do not share their runs. */
  remoteTape(run: RunSummary): RemoteTape | undefined
  close(): Promise<void>
}

/** @throws HostError `PROJECT_INVALID` without traces, `STORE_UNAVAILABLE` */
export async function openRuns(location: StoreLocation): Promise<OpenRuns> {
  const reader = await openReader({ mayBeNew: isRemote(location.store) })
  const store = isRemote(location.store) ? await openStore(location, claimFormat) : undefined
  if (store) await addRemote(reader, store)
  return {
    reader,
    isShared: store !== undefined,
    async events(run, query) {
      const page = reader.events(query)
      return page.isElsewhere && store ? readRemoteEvents(store, run.server, query) : { ...page, elsewhere: null }
    },
    remoteTape: ({ server, run_id }) => store && remoteTape(async () => store, server, run_id),
    async close() {
      reader.close()
      await store?.close()
    },
  }
}

function addRemote({ index: { runs } }: TraceReader, store: RecordStore): Promise<void> {
  return new RunFeed(store).readOn({
    put: (records) => runs.putRemote(records),
    interrupt: (server) => runs.interruptRemote(server),
    skip: (...skipped) => printError(describeSkipped(...skipped)),
  })
}
