import { GraphQLError } from 'graphql'
import { countRemembered, tenantsOf } from '../../../assembly/count-remembered.ts'
import { HostError } from '../../../errors.ts'
import { ConversationHistory } from '../../../protocols/conversation-history.ts'
import { Memory } from '../../../protocols/memory.ts'
import type { Run } from '../../../protocols/run.ts'
import { ToolProvider } from '../../../protocols/tool-provider.ts'
import type { RecordStore } from '../../../store/record-store.ts'
import { writePayload } from '../../../trace/files/payload.ts'
import type { AgentSources } from './queries/agent-view.ts'
import { between } from './queries/run-view.ts'
import { sees, seesAgent, type Viewer } from './viewer.ts'

const MAX_ENTRIES = 200

export interface MutationSources extends AgentSources {
  /** True under `agent-host dev`. */
  readonly development: boolean
  readonly openRecords: () => Promise<RecordStore>
}

interface OfModule {
  agent_id: string
  module_id: string
}

/** User and metadata of a request, by which a module finds a conversation. */
interface Owner {
  user?: string | null
  metadata?: Readonly<Record<string, unknown>> | null
}

/** The fields of `Mutation`, by their names: everything by which the page acts. Only in development, only for the page itself. */
export function makeMutations({ host, traces, redact, development, openRecords }: MutationSources) {
  const guard = ({ isOwnPage }: Viewer) => {
    if (!development) throw new GraphQLError('Only agent-host dev does this.')
    if (!isOwnPage) throw new GraphQLError('Only the debug UI itself may do this.')
  }
  const show = (value: unknown): unknown => JSON.parse(redact(writePayload(value, redact)))
  /** Shows the agent's own error, which developers need here. */
  const attempt = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act()
    } catch (error) {
      if (error instanceof HostError) throw new GraphQLError(redact(error.message))
      throw error
    }
  }
  return {
    async call_tool(call: OfModule & { name: string; arguments: Readonly<Record<string, unknown>> }, viewer: Viewer) {
      guard(viewer)
      const { agent_id, module_id: moduleId, name, arguments: args } = call
      let runId = ''
      const { tenant } = viewer
      const act = (tools: ToolProvider, run: Run) => {
        runId = run.id
        return tools.executeTool(name, args, run)
      }
      try {
        const result = await host.callModule(agent_id, { moduleId, protocol: ToolProvider, act, tenant })
        if (!result) return { run_id: runId, result: null, error: 'The call waits for an approval.' }
        return { run_id: runId, result: show(result), error: null }
      } catch (error) {
        if (runId === '' || !(error instanceof HostError)) return attempt(() => Promise.reject(error))
        return { run_id: runId, result: null, error: redact(error.message) }
      }
    },

    async read_memory(
      call: OfModule & { tenant?: string | null; user?: string | null; search?: string | null; limit: number },
      viewer: Viewer,
    ) {
      guard(viewer)
      const tenant = viewer.tenant ?? call.tenant ?? undefined
      if (call.tenant != null && tenant !== call.tenant) throw new GraphQLError('This key is not of that tenant.')
      const { agent_id, module_id: moduleId, search } = call
      const limit = between('limit', call.limit, MAX_ENTRIES)
      return attempt(() =>
        host.callModule(agent_id, {
          moduleId,
          protocol: Memory,
          tenant,
          user: call.user ?? undefined,
          isLook: true,
          act: async (memory, run) => {
            const entries = search ? await memory.search(search, limit, run) : await memory.list(run)
            return show(search ? entries : entries.slice(-limit).reverse())
          },
        }),
      )
    },

    async memory_owners({ agent_id, module_id: moduleId }: OfModule, viewer: Viewer) {
      guard(viewer)
      const tenants = viewer.tenant === undefined ? await tenantsOf(openRecords) : [viewer.tenant]
      return attempt(async () => {
        const counts = await countRemembered(host, { agentId: agent_id, moduleId }, tenants)
        return show(counts.map((each) => (each.tenant === viewer.tenant ? { ...each, tenant: '' } : each)))
      })
    },

    async forget_memory(call: OfModule & { user?: string | null; id?: string | null }, viewer: Viewer) {
      guard(viewer)
      const { keyScopes, tenant } = viewer
      if (keyScopes.length > 0 && !keyScopes.includes('approve')) {
        throw new GraphQLError("This needs a key with the scope 'approve'.")
      }
      const { agent_id, module_id: moduleId, id } = call
      const act = async (memory: Memory, run: Run) => {
        const ids = id ? [id] : (await memory.list(run)).map((entry) => entry.id)
        const gone = await Promise.all(ids.map((each) => memory.delete(each, run)))
        return gone.filter((isGone) => isGone).length
      }
      const user = call.user ?? undefined
      return attempt(() => host.callModule(agent_id, { moduleId, protocol: Memory, act, tenant, user }))
    },

    async read_conversation({ agent_id, module_id: moduleId, ...owner }: OfModule & Owner, viewer: Viewer) {
      guard(viewer)
      const act = async (history: ConversationHistory, run: Run) => show(await history.getHistory(run))
      const user = owner.user ?? undefined
      const metadata = owner.metadata ?? undefined
      const caller = { user, metadata, tenant: viewer.tenant, isLook: true }
      return attempt(() => host.callModule(agent_id, { moduleId, protocol: ConversationHistory, act, ...caller }))
    },

    async stop_run({ run_id: runId }: { run_id: string }, viewer: Viewer): Promise<boolean> {
      guard(viewer)
      if (viewer.tenant !== undefined || viewer.agents) {
        const run = await traces?.query('run', runId)
        if (!run || !sees(viewer, run)) return false
      }
      return host.abort(runId, new Error('Stopped in the debug UI.'))
    },

    async clear_log({ agent_id }: { agent_id: string }, viewer: Viewer): Promise<boolean> {
      guard(viewer)
      if (seesAgent(viewer, agent_id)) await traces?.query('clear', { agentId: agent_id, tenant: viewer.tenant })
      return traces !== undefined
    },
  }
}
