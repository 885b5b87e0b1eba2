import { Help } from '@oclif/core'

/** oclif's help, which for an unknown command says no more than that. */
export default class SuggestingHelp extends Help {
  override async showHelp(argv: string[]): Promise<void> {
    const word = argv.find((each) => !each.startsWith('-'))
    const isKnown = word === undefined || this.config.commandIDs.includes(word)
    if (!isKnown) await this.config.runHook('command_not_found', { id: word, argv: [] })
    await super.showHelp(argv)
  }
}
