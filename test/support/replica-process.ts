// A process that opens and closes servers as its parent says, and tells it what the agent `talk` does.
import type { ServerOptions } from 'agent-host'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import type { TalkState } from './talk-state.ts'

/** Request of the parent: a server with these options, or the end of an earlier one. */
export type ReplicaRequest =
  | { readonly id: number; readonly open: Partial<ServerOptions> }
  | { readonly id: number; readonly close: number }

/** Answer to a request, or news of the agent `talk`. */
export type ReplicaMessage =
  | { readonly id: number; readonly url?: string; readonly error?: string }
  | { readonly counted: keyof TalkState }

const servers = new Map<number, BuiltServer>()
const tell = (message: ReplicaMessage) => process.send?.(message)

;(globalThis as { talkState?: TalkState }).talkState = new Proxy<TalkState>(
  { runs: 0, aborted: 0 },
  {
    set(state, name, value) {
      tell({ counted: name as keyof TalkState })
      return Reflect.set(state, name, value)
    },
  },
)

process.on('message', async (request: ReplicaRequest) => {
  const { id } = request
  try {
    if ('open' in request) tell({ id, url: await open(id, request.open) })
    else {
      await close(request.close)
      tell({ id })
    }
  } catch (error) {
    tell({ id, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())

async function open(id: number, options: Partial<ServerOptions>): Promise<string> {
  const server = await buildServer(options)
  servers.set(id, server)
  return server.listen()
}

async function close(id: number): Promise<void> {
  await servers.get(id)?.close()
  servers.delete(id)
}
