/** Messages of oclif's parser, and ours in their place. */
const WORDINGS: readonly (readonly [message: RegExp, own: string])[] = [
  [/^Nonexistent flags?: (.*)$/, 'There is no flag $1.'],
  [/^Flag (\S+) expects a value$/, '$1 needs a value.'],
  [/^Parsing (\S+)\s+Expected an integer but received: (.*)$/, "$1 must be a whole number, not '$2'."],
  [/^Expected (.*) to be one of: (.*)$/, "'$1' is none of: $2."],
  [/^The following error occurred:\s+Missing required flag (\S+)$/, '--$1 is missing.'],
  [/^Missing \d+ required args?:/, 'Missing arguments:'],
]

/** Says what is wrong with a command line, from the message of oclif's parser. Unknown messages stay as they are. */
export function describeUsageError(message: string): string {
  const text = message.replace(/\nSee more help with --help$/, '').trimEnd()
  const [pattern, own] = WORDINGS.find(([known]) => known.test(text)) ?? []
  return pattern && own ? text.replace(pattern, own) : text
}
