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
    const below = commands.filter((name) => name.startsWith(`${word}:`)).map((name) => name.slice(word.length + 1))
    const nearest = didYouMean(next ?? '', below).map((line) => `  ${line}`)
    return [`Error: '${word}' takes no argument '${next}'.`, ...nearest, `  See more help with ${word} --help`]
  }
  const isFlag = word.startsWith('-')
  const first = commands.filter((command) => !command.includes(':'))
  const known = isFlag ? ['--help', '--version'] : first
  const suggestions = [...didYouMean(word, known), `Commands: ${first.join(', ')}`]
  return [`Error: There is no ${isFlag ? 'flag' : 'command'} '${word}'.`, ...suggestions.map((line) => `  ${line}`)]
}
