import { ProjectAgents } from '../../evals/project-agents.ts'
import { describeDoubts, type KeyEntry } from '../../server/guards/keys-file.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from '../agents/agent-dir-flag.ts'
import { BaseCommand } from '../base-command.ts'
import { formatTable } from '../terminal/format-table.ts'
import { KeysDocument, keysFlag } from './keys-document.ts'

const TITLES = ['NAME', 'TENANT', 'SCOPES', 'ADAPTERS', 'AGENTS', 'LIMITS', 'EXPIRES', 'DIGEST']
const TENANT_TITLES = ['TENANT', 'LIMITS OF ALL ITS KEYS TOGETHER']

export default class KeysList extends BaseCommand {
  static override description = 'Lists the keys of the file of keys. It holds digests only, so no key can be shown.'
  static override examples = ['agent-host keys list']
  static override flags = { keys: keysFlag(), 'agent-dir': agentDirFlag }

  override async run(): Promise<void> {
    const { flags } = await this.parse(KeysList)
    this.requireProject()
    const { keys: entries, tenants, doubts } = (await KeysDocument.open(this.pathOf(flags.keys))).read
    if (entries.length === 0)
      return this.log(`There is no file of keys ${flags.keys}. Begin one: agent-host keys add <name>`)
    this.logLines(formatTable([TITLES, ...entries.map(toRow)]))
    const limited = [...tenants].map(([name, limits]) => [name, describeLimits(limits)])
    if (limited.length > 0) this.logLines(['', ...formatTable([TENANT_TITLES, ...limited])])
    if (doubts.length === 0) return
    const { ids } = await ProjectAgents.read(process.cwd(), flags['agent-dir'] ?? DEFAULT_AGENT_DIR)
    for (const line of describeDoubts(doubts, ids)) this.warn(line)
  }
}

function toRow({
  name,
  tenant = '-',
  scopes,
  adapters = ['all'],
  agents = ['all'],
  limits,
  expires,
  digest,
}: KeyEntry): string[] {
  return [
    name,
    tenant,
    scopes.join(', '),
    adapters.join(', '),
    agents.join(', '),
    describeLimits(limits),
    describeEnd(expires),
    `${digest.slice(7, 19)}...`,
  ]
}

/** `requests_per_minute=60`, as `keys add` takes them. */
function describeLimits(limits: KeyEntry['limits'] = {}): string {
  const given = Object.entries(limits).map(([name, amount]) => `${name}=${amount}`)
  return given.join(', ') || 'none'
}

function describeEnd(expires: string | undefined): string {
  if (expires === undefined) return 'never'
  return Date.parse(expires) <= Date.now() ? `${expires} (expired)` : expires
}
