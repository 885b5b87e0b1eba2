import { Args, Flags } from '@oclif/core'
import type { Remembered } from '../assembly/count-remembered.ts'
import { providersOf } from '../host/providers-of.ts'
import type { MemoryEntry } from '../protocols/memory.ts'
import { Memory as MemoryProtocol } from '../protocols/memory.ts'
import type { Run } from '../protocols/run.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { type OpenAgents, openAgents, stderrLog } from './agents/open-agents.ts'
import { BaseCommand } from './base-command.ts'
import { oneLine } from './terminal/one-line.ts'
import { plural } from './terminal/plural.ts'

export default class Memory extends BaseCommand {
  static override description =
    'Counts the entries in the memories of agents, by tenant and user. With --user, lists the entries of one user.'
  static override examples = ['agent-host memory', 'agent-host memory desk --user ada']
  static override args = { agent: Args.string({ description: 'Only memories of this agent', ignoreStdin: true }) }
  static override flags = {
    user: Flags.string({ description: 'List the entries of this user, newest first' }),
    tenant: Flags.string({ description: 'Tenant of that user', dependsOn: ['user'] }),
    json: Flags.boolean({ description: 'Print them as JSON' }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Memory)
    const { user, tenant, json } = flags
    this.requireProject()
    const agents = await openAgents(flags['agent-dir'] ?? DEFAULT_AGENT_DIR, { log: stderrLog })
    try {
      const places = memoriesOf(agents, args.agent)
      const memories = await (user === undefined ? count(agents, places) : read(agents, places, { user, tenant }))
      if (json) this.printJson({ memories })
      else if (places.length === 0) this.log(`${args.agent ?? 'No agent'} has ${args.agent ? 'no' : 'a'} memory.`)
      else for (const memory of memories) this.log(describe(memory).join('\n  '))
    } finally {
      await agents.close()
    }
  }
}

interface Place {
  readonly agentId: string
  readonly moduleId: string
}

/** Memory with its numbers, or the entries of one user. */
interface FoundMemory extends Place {
  readonly counts?: readonly Remembered[]
  readonly entries?: readonly MemoryEntry[]
}

/** @throws HostError `AGENT_NOT_FOUND` */
function memoriesOf({ host }: OpenAgents, named: string | undefined): Place[] {
  const ids = named === undefined ? host.list().map(({ id }) => id) : [host.resolve(named).agent.id]
  return ids.flatMap((agentId) => providersOf(host, agentId, MemoryProtocol).map((moduleId) => ({ agentId, moduleId })))
}

async function count({ host, openRecords }: OpenAgents, places: readonly Place[]): Promise<FoundMemory[]> {
  const { countRemembered, tenantsOf } = await import('../assembly/count-remembered.ts')
  const tenants = await tenantsOf(openRecords)
  const found: FoundMemory[] = []
  for (const place of places) found.push({ ...place, counts: await countRemembered(host, place, tenants) })
  return found
}

async function read(
  { host }: OpenAgents,
  places: readonly Place[],
  owner: { readonly user: string; readonly tenant: string | undefined },
): Promise<FoundMemory[]> {
  const found: FoundMemory[] = []
  for (const place of places) {
    const act = (memory: MemoryProtocol, run: Run) => memory.list(run)
    const call = { moduleId: place.moduleId, protocol: MemoryProtocol, ...owner, isLook: true, act }
    found.push({ ...place, entries: ((await host.callModule(place.agentId, call)) ?? []).toReversed() })
  }
  return found
}

function describe({ agentId, moduleId, counts = [], entries = [] }: FoundMemory): string[] {
  const owners = counts.map(({ tenant, user, count }) => {
    const whose = user === null ? 'all users' : oneLine(user) || 'requests without a user'
    return `${whose}${tenant && `, tenant ${oneLine(tenant)}`}: ${plural(count, 'entry', 'entries')}`
  })
  const lines = [...owners, ...entries.map(({ text }) => oneLine(text))]
  return [`${agentId}/${moduleId}`, ...(lines.length === 0 ? ['Nothing is remembered.'] : lines)]
}
