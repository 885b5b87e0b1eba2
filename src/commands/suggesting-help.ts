import { Help } from '@oclif/core'

/** oclif's help, which for an unknown command says no more than that. */
export default class SuggestingHelp extends Help {
  /** A topic here is a command that has others below it: listed once, as a command. */
  protected override get sortedTopics() {
    return []
  }

  override async showHelp(argv: string[]): Promise<void> {
    const word = argv.find((each) => !each.startsWith('-'))
    const isKnown = word === undefined || this.config.commandIDs.includes(word)
    if (!isKnown) await this.config.runHook('command_not_found', { id: word, argv: [] })
    await super.showHelp(argv)
  }
}
