import { BaseCommand } from './base-command.ts'

export default class Schema extends BaseCommand {
  static override description = "Prints a JSON Schema of this project's agent files, with the config of every module."
  static override examples = ['agent-host schema > agent.schema.json']

  override async run(): Promise<void> {
    await this.parse(Schema)
    this.requireProject()
    const { makeAgentFileSchema } = await import('../module/editor-schema.ts')
    this.printJson(await makeAgentFileSchema(process.cwd()))
  }
}
