import type { RecordStore } from '../store/record-store.ts'
import type { EventsPage, EventsQuery } from '../trace/trace-query.ts'
import { askEvents } from './remote-events.ts'
import { readReplicas } from './replica-rows.ts'

/**
 * Reads events of a run from the server that has traced it.
 *
 * @param server its name: after a restart it has another id, and may have the same traces
 * @returns beside them, in words, where they are when that server does not give them
 */
export async function readRemoteEvents(
  store: RecordStore,
  server: string,
  query: EventsQuery,
): Promise<EventsPage & { readonly elsewhere: string | null }> {
  const owner = await findAlive(store, server)
  if (owner === undefined) return without(`Server '${server}' has ended. The events are in its folder ./debug.`)
  const reply = await askEvents(store, owner, query)
  if (!reply) return without(`Server '${server}' does not answer. The events are in its folder ./debug.`)
  if (!reply.page) return without(`Server '${server}' has the events of this run no longer.`)
  return { ...reply.page, elsewhere: null }
}

async function findAlive(store: RecordStore, server: string): Promise<string | undefined> {
  for (const { id, name } of await readReplicas(store)) {
    if (name === server && id !== store.serverId && (await store.isServerAlive(id))) return id
  }
  return undefined
}

function without(elsewhere: string): EventsPage & { readonly elsewhere: string } {
  return { events: [], hasMore: false, isElsewhere: true, elsewhere }
}
