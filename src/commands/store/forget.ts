import { existsSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { HostError } from '../../errors.ts'
import { resolveServerOptions } from '../../server/options/options.ts'
import { stderrLog } from '../agents/open-agents.ts'
import { BaseCommand } from '../base-command.ts'
import { pickServerFlags } from '../server/server-flags.ts'

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
    const [{ forgetUser, checkUser }, { openProject }] = await Promise.all([
      import('../../server/forget/forget-user.ts'),
      import('../../assembly/open-project.ts'),
    ])
    checkUser(user)
    const options = resolveServerOptions({
      store: flags.store,
      responsesDir: flags['responses-dir'],
      agentDir: flags['agent-dir'],
      secretKey: flags['secret-key'],
      queue: flags.queue,
      debug: existsSync('debug'),
      noWorker: true,
      drainTimeout: 1,
    })
    const project = await openProject(options, { log: stderrLog, logsSteps: false })
    try {
      const { left, ...counts } = await forgetUser(project, { tenant, user })
      for (const [name, count] of Object.entries(counts))
        this.log(`${String(count).padStart(8)}  ${NAMES[name] ?? name}`)
      if (left.length > 0) throw new HostError('STORE_UNAVAILABLE', left.join('\n'))
    } finally {
      await project.close()
    }
  }
}

const NAMES: Readonly<Record<string, string>> = { runs_ended: 'runs ended', records: 'other records' }
