import { BaseCommand } from './base-command.ts'
import { runServer } from './run-server.ts'
import { fillSwitches, readServerFlags, serverFlags } from './server-flags.ts'

export default class Serve extends BaseCommand {
  static override description = 'Serves the agents of this project through the adapters you name.'
  static override examples = ['<%= config.bin %> serve --adapter ChatCompatApiAdapter --port 8000']
  static override flags = serverFlags()

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const { flags } = await this.parse(Serve)
    const options = readServerFlags(flags)
    this.requireProject()
    await runServer(options)
  }
}
