import { GraphQLError } from 'graphql'
import { countRemembered, tenantsOf } from '../../../assembly/count-remembered.ts'
import { HostError } from '../../../errors.ts'
import { mapFields } from '../../../json.ts'
import { ConversationHistory } from '../../../protocols/conversation-history.ts'
import { Memory } from '../../../protocols/memory.ts'
import type { Run } from '../../../protocols/run.ts'
import { ToolProvider } from '../../../protocols/tool-provider.ts'
import { hideSecrets } from '../../../redaction/redact.ts'
import type { ModuleCall } from '../../../run/agent/agent.ts'
import { writePayload } from '../../../trace/files/payload.ts'
import type { DebugAdapterOptions } from '../adapter.ts'
import type { AgentSources } from './queries/agent-view.ts'
import { between } from './queries/run-view.ts'
import { sees, seesAgent, type Viewer } from './viewer.ts'

const MAX_ENTRIES = 200

export type MutationSources = AgentSources & Pick<DebugAdapterOptions, 'options' | 'openRecords'>

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
export function makeMutations(sources: MutationSources) {
  const modules = new Modules(sources)
  const acts: Readonly<Record<string, Act>> = {
    ...toolMutations(modules),
    ...memoryMutations(modules, sources),
    ...runMutations(sources),
  }
  return mapFields(
    acts,
    (act): Act =>
      (call, viewer) => {
        if (!sources.options.development) throw new GraphQLError('Only agent-host dev does this.')
        if (!viewer.isOwnPage) throw new GraphQLError('Only the debug UI itself may do this.')
        return act(call, viewer)
      },
  )
}

/** A mutation; the GraphQL schema has checked its arguments. */
type Act = (call: never, viewer: Viewer) => Promise<unknown>

/** Modules of agents that the page uses. */
class Modules {
  readonly #host: MutationSources['host']
  readonly #redact: MutationSources['redact']

  constructor({ host, redact }: MutationSources) {
    this.#host = host
    this.#redact = redact
  }

  show(value: unknown): unknown {
    return JSON.parse(hideSecrets(writePayload(value, this.#redact), this.#redact))
  }

  /** Has a module do something, as a request of this owner would. */
  call<T, R>(of: OfModule & Owner, call: Pick<ModuleCall<T, R>, 'protocol' | 'act'> & Partial<ModuleCall<T, R>>) {
    const owner = { user: of.user ?? undefined, metadata: of.metadata ?? undefined }
    return this.attempt(this.#host.callModule(of.agent_id, { moduleId: of.module_id, ...owner, ...call }))
  }

  /** Shows the agent's own error, which developers need here. */
  async attempt<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (error instanceof HostError) throw new GraphQLError(this.#redact(error.message))
      throw error
    }
  }
}

function toolMutations(modules: Modules) {
  return {
    async call_tool(call: OfModule & { name: string; arguments: Readonly<Record<string, unknown>> }, viewer: Viewer) {
      let runId = ''
      const act = (tools: ToolProvider, run: Run) => {
        runId = run.id
        return tools.executeTool(call.name, call.arguments, run)
      }
      try {
        const result = await modules.call(call, { protocol: ToolProvider, act, tenant: viewer.tenant })
        if (!result) return { run_id: runId, result: null, error: 'The call waits for an approval.' }
        return { run_id: runId, result: modules.show(result), error: null }
      } catch (error) {
        if (runId === '' || !(error instanceof GraphQLError)) throw error
        return { run_id: runId, result: null, error: error.message }
      }
    },

    async read_conversation(call: OfModule & Owner, { tenant }: Viewer) {
      const act = async (history: ConversationHistory, run: Run) => modules.show(await history.getHistory(run))
      return modules.call(call, { protocol: ConversationHistory, act, tenant, isLook: true })
    },
  }
}

function memoryMutations(modules: Modules, { host, openRecords }: MutationSources) {
  return {
    async read_memory(
      call: OfModule & { tenant?: string | null; user?: string | null; search?: string | null; limit: number },
      viewer: Viewer,
    ) {
      const tenant = viewer.tenant ?? call.tenant ?? undefined
      if (call.tenant != null && tenant !== call.tenant) throw new GraphQLError('This key is not of that tenant.')
      const { search } = call
      const limit = between('limit', call.limit, MAX_ENTRIES)
      const act = async (memory: Memory, run: Run) => {
        const entries = search ? await memory.search(search, limit, run) : await memory.list(run)
        return modules.show(search ? entries : entries.slice(-limit).reverse())
      }
      return modules.call(call, { protocol: Memory, act, tenant, isLook: true })
    },

    async memory_owners({ agent_id: agentId, module_id: moduleId }: OfModule, viewer: Viewer) {
      const tenants = viewer.tenant === undefined ? await tenantsOf(openRecords) : [viewer.tenant]
      const counts = await modules.attempt(countRemembered(host, { agentId, moduleId }, tenants))
      return modules.show(counts.map((each) => (each.tenant === viewer.tenant ? { ...each, tenant: '' } : each)))
    },

    async forget_memory(
      { id, ...call }: OfModule & { user?: string | null; id?: string | null },
      { keyScopes, tenant }: Viewer,
    ) {
      if (keyScopes.length > 0 && !keyScopes.includes('approve')) {
        throw new GraphQLError("This needs a key with the scope 'approve'.")
      }
      const act = async (memory: Memory, run: Run) => {
        const ids = id ? [id] : (await memory.list(run)).map((entry) => entry.id)
        const gone = await Promise.all(ids.map((each) => memory.delete(each, run)))
        return gone.filter((isGone) => isGone).length
      }
      return modules.call(call, { protocol: Memory, act, tenant })
    },
  }
}

function runMutations({ host, traces }: MutationSources) {
  return {
    async stop_run({ run_id: runId }: { run_id: string }, viewer: Viewer): Promise<boolean> {
      if (viewer.tenant !== undefined || viewer.agents) {
        const run = await traces?.query('run', runId)
        if (!run || !sees(viewer, run)) return false
      }
      return host.abort(runId, new Error('Stopped in the debug UI.'))
    },

    async clear_log({ agent_id }: { agent_id: string }, viewer: Viewer): Promise<boolean> {
      if (seesAgent(viewer, agent_id)) await traces?.query('clear', { agentId: agent_id, tenant: viewer.tenant })
      return traces !== undefined
    },
  }
}
