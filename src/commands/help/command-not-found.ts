import type { Hook } from '@oclif/core'
import { didYouMean } from '../../definition/nearest-name.ts'
import { printError } from '../terminal/print-error.ts'

/** Runs for an unknown command. */
const commandNotFound: Hook<'command_not_found'> = async ({ config, id, context }) => {
  for (const line of adviceFor(id, config.commandIDs)) printError(line)
  context.exit(2)
}

export default commandNotFound

/** @param id the words, as oclif joins them: `serve extra` is `serve:extra` */
function adviceFor(id: string, commands: readonly string[]): string[] {
  const words = id.split(':').filter((part, index) => index > 0 || part !== 'help')
  const called = words.findLastIndex((_, index) => {
    const prefix = words.slice(0, index + 1).join(':')
    return commands.includes(prefix) || commandsBelow(prefix, commands).length > 0
  })
  if (called >= 0) {
    const name = words.slice(0, called + 1).join(' ')
    const next = words[called + 1] ?? ''
    const nearest = didYouMean(next, commandsBelow(name.replaceAll(' ', ':'), commands)).map((line) => `  ${line}`)
    return [
      `Error: '${name}' takes no argument '${next}'.`,
      ...nearest,
      `  See more help with agent-host ${name} --help`,
    ]
  }
  const [word = ''] = words
  const isFlag = word.startsWith('-')
  const first = commands.filter((command) => !command.includes(':'))
  const known = isFlag ? ['--help', '--version'] : first
  const suggestions = [...didYouMean(word, known), `Commands: ${first.join(', ')}`]
  return [`Error: There is no ${isFlag ? 'flag' : 'command'} '${word}'.`, ...suggestions.map((line) => `  ${line}`)]
}

function commandsBelow(id: string, commands: readonly string[]): string[] {
  return commands.filter((command) => command.startsWith(`${id}:`)).map((command) => command.slice(id.length + 1))
}
