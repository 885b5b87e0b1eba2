import { Flags } from '@oclif/core'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { requireShared } from '../store/open-store.ts'
import { BaseCommand } from './base-command.ts'
import { runServer } from './server/run-server.ts'
import { fillSwitches, pickServerFlags, readServerFlags, tracingFlag } from './server/server-flags.ts'

/** Server options that make sense without clients. */
const OPTIONS = [
  'agentDir',
  'store',
  'serverName',
  'queue',
  'schedules',
  'webhookAllowPrivate',
  'responsesDir',
  'secretKey',
  'keys',
  'host',
  'port',
  'publicUrl',
  'metrics',
  'debug',
  'noWatch',
  'logLevel',
  'auditLog',
  'runTimeout',
  'drainTimeout',
] as const

/** Only probes need its port. */
const DEFAULTS = { port: 0, workerOnly: true, schedules: true }

export default class Worker extends BaseCommand {
  static override description =
    'Runs background responses that servers on the same store accept. Serves only probes and metrics.'
  static override examples = ['agent-host worker --store postgres://agents@db/agents --concurrency 50']
  static override usage = 'worker [FLAGS]'
  static override flags = {
    concurrency: Flags.integer({
      description: 'Concurrent background responses [default: 100]',
      env: 'AGENT_HOST_CONCURRENCY',
      helpValue: '<value>',
      min: 1,
      max: 1_000_000,
    }),
    ...pickServerFlags(
      OPTIONS.map((name) => SERVER_OPTIONS[name].flag),
      DEFAULTS,
    ),
    ...tracingFlag(),
  }

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { flags } = await this.parse(Worker)
    const options = readServerFlags(flags, { ...DEFAULTS, maxBackgroundRuns: flags.concurrency ?? 100 })
    this.requireProject()
    requireShared(options.store, 'agent-host worker')
    await runServer(options)
  }
}
