import { existsSync } from 'node:fs'
import { Flags } from '@oclif/core'
import type { AssembledProject } from '../../assembly/opened-project.ts'
import { HostError } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { pickServerFlags } from '../server/server-flags.ts'
import { useProject } from '../server/use-project.ts'

export default class StoreForget extends BaseCommand {
  static override description =
    'Deletes the data of one user: responses, conversations, memories, traces and tapes. Their runs are ended first.'
  static override examples = ['agent-host store forget --user ada', 'agent-host store forget --user ada --tenant acme']
  static override flags = {
    user: Flags.string({ description: 'User, as clients name it', required: true, helpValue: '<name>' }),
    tenant: Flags.string({
      description: 'Tenant of the user [default: the nameless one]',
      helpValue: '<name>',
      default: '',
    }),
    ...pickServerFlags(['store', 'responses-dir', 'agent-dir', 'secret-key', 'queue']),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(StoreForget)
    this.requireProject()
    const { user, tenant } = flags
    const { forgetUser, checkUser } = await import('../../server/forget/forget-user.ts')
    checkUser(user)
    const forget = (project: AssembledProject) => forgetUser(project, { tenant, user })
    const { left, ...counts } = await useProject(flags, forget, { debug: existsSync('debug') })
    for (const [name, count] of Object.entries(counts)) this.log(`${String(count).padStart(8)}  ${NAMES[name] ?? name}`)
    if (left.length > 0) throw new HostError('STORE_UNAVAILABLE', left.join('\n'))
  }
}

const NAMES: Readonly<Record<string, string>> = { runs_ended: 'runs ended', records: 'other records' }
