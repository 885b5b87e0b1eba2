import type { AgentHost } from '../../host/host.ts'
import { providersOf } from '../../host/providers-of.ts'
import { Memory } from '../../protocols/memory.ts'
import type { Run } from '../../protocols/run.ts'

/** User whose data is deleted. */
export interface ForgottenUser {
  /** '' for the nameless one. */
  readonly tenant: string
  /** As clients name it. */
  readonly user: string
}

/**
 * Deletes the entries of a user from the memories of all agents that keep users apart.
 *
 * @returns how many
 */
export async function forgetMemories(host: AgentHost, { tenant, user }: ForgottenUser): Promise<number> {
  let count = 0
  const act = async (memory: Memory, run: Run) => {
    const owners = (await memory.owners?.(run)) ?? []
    if (!owners.some((owner) => owner.user === user)) return
    for (const { id } of await memory.list(run)) if (await memory.delete(id, run)) count++
  }
  for (const { id } of host.list()) {
    for (const moduleId of providersOf(host, id, Memory)) {
      await host.callModule(id, { moduleId, protocol: Memory, act, tenant, user, isLook: true })
    }
  }
  return count
}
