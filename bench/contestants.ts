import { ChildServer } from './child-server.ts'

/** Servers of one comparison. */
export interface Contestants {
  readonly floor: ChildServer
  readonly own: ChildServer
  /** Build of the checkout in `BENCH_BEFORE`, where that is set. */
  readonly before?: ChildServer
  stop(): Promise<unknown>
}

/**
 * Starts a floor, this build, and the build to compare it with.
 *
 * @param floorName of a file in bench/servers
 * @param makeArguments arguments of agent-host.js; called for each build, since two of them cannot share a store
 */
export async function startContestants(
  floorName: string,
  makeArguments: () => readonly string[] = () => [],
  floorArguments: readonly string[] = [],
): Promise<Contestants> {
  const floor = await ChildServer.start(floorName, floorArguments)
  const own = await ChildServer.start('agent-host', makeArguments())
  const checkout = process.env.BENCH_BEFORE
  const before = checkout ? await ChildServer.start('agent-host', makeArguments(), { checkout }) : undefined
  const stop = () => Promise.all([floor, own, before].map((server) => server?.stop()))
  return { floor, own, ...(before ? { before } : {}), stop }
}
