import { randomBytes } from 'node:crypto'
import { Args, Flags } from '@oclif/core'
import { badOption } from '../../errors.ts'
import { digestOf } from '../../server/guards/key.ts'
import { type KeyEntry, LIMIT_NAMES } from '../../server/guards/keys-file.ts'
import { KEY_SCOPES } from '../../server/guards/principal.ts'
import { BaseCommand } from '../base-command.ts'
import { KeysDocument, keysFlag } from './keys-document.ts'

export default class KeysAdd extends BaseCommand {
  static override description =
    'Makes a key for a person or a program, prints it once, and writes its digest to the file of keys.'
  static override examples = [
    'agent-host keys add ci',
    'agent-host keys add alice --tenant acme --scope run --scope approve --expires 2027-01-31',
    'agent-host keys add shop --limit requests_per_minute=60 --limit concurrent_runs=4',
  ]
  static override args = { name: Args.string({ description: 'Person or program that the key is for', required: true }) }
  static override flags = {
    keys: keysFlag(),
    tenant: Flags.string({ description: 'Tenant that it belongs to [default: the nameless one]', helpValue: '<name>' }),
    scope: Flags.string({
      description: 'Right of the key; can be given several times',
      options: [...KEY_SCOPES],
      multiple: true,
      default: ['run'],
    }),
    adapter: Flags.string({
      description: 'Adapter that it opens [default: all]; can be given several times',
      multiple: true,
      helpValue: '<name>',
    }),
    agent: Flags.string({
      description: "Agent that it sees, or several: 'sales-*' [default: all]; can be given several times",
      multiple: true,
      helpValue: '<glob>',
    }),
    limit: Flags.string({
      description: `Limit of what it starts: ${LIMIT_NAMES.join(', ')} [default: none]; can be given several times`,
      multiple: true,
      helpValue: '<name>=<number>',
    }),
    expires: Flags.string({ description: 'Day or time from which it is refused: 2027-01-31', helpValue: '<time>' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysAdd)
    this.requireProject()
    const limits = readLimits(flags.limit)
    const document = await KeysDocument.open(this.pathOf(flags.keys))
    const key = randomBytes(32).toString('hex')
    const { tenant, adapter: adapters, agent: agents, expires } = flags
    const given: readonly string[] = flags.scope
    const scopes = KEY_SCOPES.filter((scope) => given.includes(scope))
    const optional = Object.entries({ adapters, agents, expires, limits }).filter(([, value]) => value !== undefined)
    const entry = { name: args.name, ...(tenant && { tenant }), digest: `sha256:${digestOf(key)}`, scopes }
    document.add({ ...entry, ...Object.fromEntries(optional) })
    await document.save()
    this.log(key)
    this.logToStderr(
      `This key of '${args.name}' is shown only now. Servers with --keys ${flags.keys} take it within a second.`,
    )
  }
}

/** @param given such as `requests_per_minute=60` */
function readLimits(given: readonly string[] | undefined): KeyEntry['limits'] {
  return (
    given &&
    Object.fromEntries(
      given.map((text) => {
        const [, name = '', amount] = /^(\w+)=(\d+(?:\.\d+)?)$/.exec(text) ?? []
        if (LIMIT_NAMES.includes(name)) return [name, Number(amount)]
        const suggestions = [`Write one of ${LIMIT_NAMES.join(', ')}, and its number: requests_per_minute=60.`]
        throw badOption(`--limit: '${text}' is no limit.`, { suggestions })
      }),
    )
  )
}
