import { randomBytes } from 'node:crypto'
import { Args, Flags } from '@oclif/core'
import { digestOf } from '../../server/guards/key.ts'
import { KEY_SCOPES } from '../../server/guards/principal.ts'
import { BaseCommand } from '../base-command.ts'
import { KeysDocument, keysFlag } from './keys-document.ts'

export default class KeysAdd extends BaseCommand {
  static override description =
    'Makes a key for a person or a program, prints it once, and writes its digest to the file of keys.'
  static override examples = [
    'agent-host keys add ci',
    'agent-host keys add alice --tenant acme --scope run --scope approve --expires 2027-01-31',
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
    expires: Flags.string({ description: 'Day or time from which it is refused: 2027-01-31', helpValue: '<time>' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysAdd)
    this.requireProject()
    const document = await KeysDocument.open(this.pathOf(flags.keys))
    const key = randomBytes(32).toString('hex')
    const { tenant, adapter: adapters, agent: agents, expires } = flags
    const given: readonly string[] = flags.scope
    const scopes = KEY_SCOPES.filter((scope) => given.includes(scope))
    const optional = { ...(adapters && { adapters }), ...(agents && { agents }), ...(expires && { expires }) }
    document.add({ name: args.name, ...(tenant && { tenant }), digest: `sha256:${digestOf(key)}`, scopes, ...optional })
    await document.save()
    this.log(key)
    this.logToStderr(
      `This key of '${args.name}' is shown only now. Servers with --keys ${flags.keys} take it within a second.`,
    )
  }
}
