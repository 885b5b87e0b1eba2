import type { ClientSeal } from '../../../../durable/durable-runs.ts'
import type { RunService } from '../../../../durable/run-service.ts'

/** Returns a function that calls `use` with the seal of the states of waiting calls, for the clients of a tenant. */
export function sealFor(durableRuns: Pick<RunService, 'open'>) {
  return async <T>(tenant: string, use: (seal: ClientSeal) => T): Promise<T> => {
    const runs = (await durableRuns.open()).of(tenant)
    return use(await runs.clientSeal('mcp-call'))
  }
}
