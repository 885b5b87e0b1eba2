import { readFileSync } from 'node:fs'

/** What `finish-build` wrote: the version, and the help of each command; of the whole under the empty name. */
interface ReadyTexts {
  readonly version: string
  readonly help: Readonly<Record<string, string>>
}

/** The answer to a call for help or the version; `undefined` when the call is for anything else. */
export function readyText(args: readonly string[]): string | undefined {
  const [first = '--help', second] = args
  if (args.length > 2) return undefined
  if (second !== undefined) return helpAsked(first, second)
  if (HELP.includes(first) || first === 'help') return readTexts().help['']
  return VERSION.includes(first) ? readTexts().version : undefined
}

const HELP = ['--help', '-h']
const VERSION = ['--version', '-v', 'version']

/** `help serve`, `--help serve` and `serve --help`; but `init help` makes a project of that name. */
function helpAsked(first: string, second: string): string | undefined {
  const isFirst = first === 'help' || HELP.includes(first)
  if (!isFirst && !HELP.includes(second)) return undefined
  const command = isFirst ? second : first
  const { help } = readTexts()
  return HELP.includes(command) ? help[''] : Object.hasOwn(help, command) ? help[command] : undefined
}

function readTexts(): ReadyTexts {
  return JSON.parse(readFileSync(new URL('./ready-texts.json', import.meta.url), 'utf8'))
}
