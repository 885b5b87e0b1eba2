import { CommandHelp, Help } from '@oclif/core'

/** Commands in the order of a reader; those below another follow it. */
const ORDER =
  'init dev chat check test tool memory run new eject schema runs replay eval approvals schedules serve worker mcp doctor docs completion'.split(
    ' ',
  )

/** oclif's help of a command, without the description after the options: it is the first line already. */
class BriefCommandHelp extends CommandHelp {
  protected override description(): undefined {
    return undefined
  }
}

/** oclif's help, which for an unknown command says no more than that. */
export default class SuggestingHelp extends Help {
  protected override CommandHelpClass = BriefCommandHelp

  /** A topic that is a command too is listed once, as a command. */
  protected override get sortedTopics() {
    return super.sortedTopics.filter(({ name }) => !this.config.commandIDs.includes(name))
  }

  protected override get sortedCommands() {
    return super.sortedCommands.sort((one, other) => rankOf(one.id) - rankOf(other.id))
  }

  override async showHelp(argv: string[]): Promise<void> {
    const word = argv.find((each) => !each.startsWith('-'))
    const names = [...this.config.commandIDs, ...this.config.topics.map(({ name }) => name)]
    const isKnown = word === undefined || names.includes(word)
    if (!isKnown) await this.config.runHook('command_not_found', { id: word, argv: [] })
    await super.showHelp(argv)
  }
}

function rankOf(id: string): number {
  return ORDER.indexOf(id.split(':', 1)[0] ?? '')
}
