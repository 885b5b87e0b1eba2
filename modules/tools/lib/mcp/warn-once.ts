import type { Log } from 'agent-host'

/** Warnings that are remembered. A server may make up others for ever. */
const MAX_TOLD = 1000

/** Returns a function that logs each warning once: every listing would repeat those about its tools. */
export function makeWarnOnce(log: Log): (warning: string) => void {
  const told = new Set<string>()
  return (warning) => {
    if (told.size > MAX_TOLD || told.has(warning)) return
    told.add(warning)
    log.warn(told.size > MAX_TOLD ? 'Further warnings about tools of MCP servers are left out.' : warning)
  }
}
