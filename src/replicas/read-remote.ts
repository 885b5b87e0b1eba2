import { decodeBase64 } from '../base64.ts'
import { HostError } from '../errors.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RemoteTape } from '../trace/remote-runs.ts'
import type { EventsPage, EventsQuery } from '../trace/run-index/trace-query.ts'
import { askEvents, askTape } from './remote-questions.ts'
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

/** Bytes of a tape in one question. */
const PIECE_BYTES = 1024 * 1024

/** Tape of a run of another server, which reads it from its folder. */
export function remoteTape(open: () => Promise<RecordStore>, server: string, runId: string): RemoteTape {
  const ask = async (offset: number, maxBytes: number) => {
    const store = await open()
    const owner = await findAlive(store, server)
    return owner === undefined ? undefined : askTape(store, owner, { tapeOf: runId, offset, maxBytes })
  }
  return {
    exists: async () => ((await ask(0, 0))?.piece ?? null) !== null,
    async *read() {
      let version: string | undefined
      for (let offset = 0, end = 1; offset < end; ) {
        const reply = await ask(offset, PIECE_BYTES)
        const piece = reply?.piece
        if (!piece && offset === 0) return
        if (!piece || piece.version !== (version ?? piece.version)) throw interrupted(server, runId)
        const bytes = decodeBase64(piece.base64)
        version = piece.version
        end = piece.totalBytes
        offset += bytes.length
        yield bytes
      }
    },
  }
}

function interrupted(server: string, runId: string): HostError {
  return new HostError('STORE_UNAVAILABLE', `Server '${server}' gave only a part of the tape of run ${runId}.`, {
    suggestions: ['Ask again: the tape was replaced or deleted, or the server has ended.'],
  })
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
