import type { Hook } from '@oclif/core'
import { didYouMean } from '../agent/nearest-name.ts'

/** Runs when the first word is no command. */
const commandNotFound: Hook<'command_not_found'> = async ({ config, id, context }) => {
  process.stderr.write(`Error: There is no command '${id}'.\n`)
  const suggestions = didYouMean(id, config.commandIDs)
  for (const line of [...suggestions, `Commands: ${config.commandIDs.join(', ')}`]) process.stderr.write(`  ${line}\n`)
  context.exit(2)
}

export default commandNotFound
