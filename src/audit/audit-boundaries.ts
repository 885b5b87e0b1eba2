import { hasCode } from '../errors.ts'
import { type AgentHost, VISITS } from '../host/host.ts'
import type { Visit } from '../host/visits.ts'
import type { Run } from '../protocols/run.ts'
import type { ToolProvider } from '../protocols/tool-provider.ts'
import { AgentRun } from '../run/agent-run.ts'
import type { Boundaries, Place } from '../run/calls/boundaries.ts'
import type { RunResult, Turn } from '../run/turn.ts'
import { type AuditLog, factsOf } from './audit-log.ts'

/** Writes a line when a run begins and ends, and before each tool call. */
export class AuditBoundaries implements Boundaries {
  readonly #audit: AuditLog
  readonly #host: AgentHost
  readonly #visits = new WeakMap<AgentRun['answer'], Visit>()

  constructor(audit: AuditLog, host: AgentHost) {
    this.#audit = audit
    this.#host = host
  }

  begin(run: AgentRun, _turn: Turn, result: Promise<RunResult>): boolean {
    const { current } = this.#host[VISITS]
    if (current) this.#visits.set(run.answer, current)
    const { agentVersion: version, parent } = run
    const continues = run.waiting.continues ?? undefined
    this.#audit.note({ event: 'run_begin', ...this.#factsOf(run), version, parent_run_id: parent?.runId, continues })
    const end = (status: string) => void this.#audit.note({ event: 'run_end', ...this.#factsOf(run), status })
    result.then(
      ({ status }) => end(status),
      (error) => end(hasCode(error, 'RUN_ABORTED') ? 'cancelled' : 'failed'),
    )
    return true
  }

  attach(provider: object, { protocol, moduleId }: Place, own: AgentRun | undefined): object {
    if (protocol.name !== 'ToolProvider') return provider
    const tools = provider as ToolProvider
    const { needsApproval } = tools
    const wrapped: ToolProvider = {
      listTools: (run) => tools.listTools(run),
      executeTool: async (name, args, run: Run) => {
        const facts = this.#factsOf(run instanceof AgentRun ? run : own)
        this.#audit.require({
          event: 'tool_call',
          ...facts,
          module: moduleId,
          tool: name,
          arguments: this.#audit.macOf(args),
        })
        return tools.executeTool(name, args, run)
      },
    }
    if (needsApproval) wrapped.needsApproval = (name, args, run) => needsApproval.call(tools, name, args, run)
    return wrapped
  }

  #factsOf(run: AgentRun | undefined) {
    if (!run) return {}
    return {
      ...factsOf(this.#visits.get(run.answer)),
      tenant: run.tenant || undefined,
      agent: run.agentId,
      run_id: run.id,
    }
  }
}
