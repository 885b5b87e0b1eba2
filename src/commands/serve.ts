import cluster from 'node:cluster'
import { Flags } from '@oclif/core'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { requireShared } from '../store/open-store.ts'
import { BaseCommand } from './base-command.ts'
import { runProcesses } from './server/run-processes.ts'
import { runServer } from './server/run-server.ts'
import { fillSwitches, readServerFlags, serverFlags } from './server/server-flags.ts'

/** Processes of one command need names of their own. */
function nameProcess(flags: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { flag } = SERVER_OPTIONS.serverName
  if (!cluster.worker || flags[flag] === undefined) return flags
  return { ...flags, [flag]: `${flags[flag]}-${cluster.worker.id}` }
}

const DEFAULTS = { schedules: true }

export default class Serve extends BaseCommand {
  static override description = 'Serves the agents of this project through the adapters you name.'
  static override examples = ['agent-host serve --adapter ChatCompatApiAdapter --port 8000']
  static override usage = 'serve [FLAGS]'
  static override flags = {
    ...serverFlags(DEFAULTS),
    processes: Flags.integer({
      description: 'Processes that share the port and the store, for all cores of a machine [default: 1]',
      env: 'AGENT_HOST_PROCESSES',
      helpValue: '<value>',
      min: 1,
      max: 256,
    }),
  }

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { flags } = await this.parse(Serve)
    const options = readServerFlags(nameProcess(flags), DEFAULTS)
    this.requireProject()
    const { processes = 1 } = flags
    if (processes === 1 || cluster.isWorker) return void (await runServer(options))
    requireShared(options.store, '--processes')
    await runProcesses(processes, (message) => this.warn(message), options.noWatch)
  }
}
