import type { ClientSeal } from '../../../../durable/durable-runs.ts'
import type { RunService } from '../../../../durable/run-service.ts'

/** Returns a function that opens the seal of the states of waiting calls, for the clients of a tenant. */
export function sealFor(durableRuns: Pick<RunService, 'open'>) {
  return async (tenant: string): Promise<ClientSeal> => (await durableRuns.open()).of(tenant).clientSeal('mcp-call')
}
