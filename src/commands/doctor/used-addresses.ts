import { interpolate } from '../../definition/interpolate.ts'
import { VENDORS } from '../../project/create/providers.ts'
import { openAgents } from '../agents/open-agents.ts'

/** Modules of the project's agents, as far as they matter to this machine. */
export interface UsedModules {
  /** Number of the agents that can be served. */
  readonly agents: number
  /** Number of the agent files that cannot be used. */
  readonly problems: number
  /** True where an agent takes the model of the environment. */
  readonly usesAuto: boolean
  readonly usesPython: boolean
  /** Places of modules, `desk/llm`, by the address that they ask. */
  readonly addresses: ReadonlyMap<string, readonly string[]>
}

/** Address of a vendor's API, which the environment may replace. */
export function vendorAddress(vendor: string, environment: NodeJS.ProcessEnv): string | undefined {
  return environment[`${vendor.toUpperCase()}_BASE_URL`] || VENDORS[vendor]?.url
}

/** Reads what the agents of the project use, without asking any of it. */
export async function readUsedModules(environment: NodeJS.ProcessEnv): Promise<UsedModules> {
  const { host, folder, close } = await openAgents('agents')
  try {
    const modules = host.list().flatMap(({ id }) => {
      const found = host.describe(id)?.modules ?? []
      return found.map((module) => ({ ...module, place: `${id}/${module.id}` }))
    })
    const addresses = new Map<string, string[]>()
    for (const { module, config, place } of modules) {
      const named = addressesIn(interpolate(config, {}, environment).value)
      const vendor = /^llm\/(\w+)$/.exec(module)?.[1]
      const usual = named.length === 0 && vendor ? vendorAddress(vendor, environment) : undefined
      for (const url of usual ? [usual] : named) addresses.set(url, [...(addresses.get(url) ?? []), place])
    }
    return {
      agents: host.list().length,
      problems: new Set(folder.problems().map(({ file }) => file)).size,
      usesAuto: modules.some(({ module }) => module === 'llm/auto'),
      usesPython: modules.some(({ config }) => /\.py"/.test(JSON.stringify(config))),
      addresses,
    }
  } finally {
    await close()
  }
}

/** Addresses in fields of a config that name one. */
function addressesIn(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return []
  return Object.entries(config).flatMap(([key, value]) =>
    /^(base_?)?url$/i.test(key) && typeof value === 'string' && /^https?:/.test(value) ? [value] : addressesIn(value),
  )
}
