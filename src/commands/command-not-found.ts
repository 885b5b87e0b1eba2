import type { Hook } from '@oclif/core'
import { didYouMean } from '../agent/nearest-name.ts'

/** Runs when what stands before the first flag is no command. */
const commandNotFound: Hook<'command_not_found'> = async ({ config, id, context }) => {
  for (const line of explain(id, config.commandIDs)) process.stderr.write(`${line}\n`)
  context.exit(2)
}

export default commandNotFound

/** @param id the words, as oclif joins them: `serve extra` is `serve:extra` */
function explain(id: string, commands: readonly string[]): string[] {
  const [word = '', next] = id.split(':').filter((part, index) => index > 0 || part !== 'help')
  if (commands.includes(word)) {
    return [`Error: '${word}' takes no argument '${next}'.`, `  See more help with ${word} --help`]
  }
  const isFlag = word.startsWith('-')
  const known = isFlag ? ['--help', '--version'] : commands
  const suggestions = [...didYouMean(word, known), `Commands: ${commands.join(', ')}`]
  return [`Error: There is no ${isFlag ? 'flag' : 'command'} '${word}'.`, ...suggestions.map((line) => `  ${line}`)]
}
