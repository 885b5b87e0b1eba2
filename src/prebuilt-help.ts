import { readFileSync } from 'node:fs'

/**
 * Output of `finish-build`: the version, and the help of each command (`eject:list`); that of the whole program under
 * ''.
 */
interface ReadyTexts {
  readonly version: string
  readonly help: Readonly<Record<string, string>>
}

/** The answer to a call for help or the version; `undefined` when the call is for anything else. */
export function readyText(args: readonly string[]): string | undefined {
  const [first = '--help', ...rest] = args
  if (rest.length > 0) return helpAsked(args)
  if (HELP.includes(first) || first === 'help') return readTexts().help['']
  return VERSION.includes(first) ? readTexts().version : undefined
}

const HELP = ['--help', '-h']
const VERSION = ['--version', '-v', 'version']

/** `help serve`, `--help serve` and `serve --help`, `runs show --help`; but `init help` makes a project of that name. */
function helpAsked(args: readonly string[]): string | undefined {
  const isFirst = args[0] === 'help' || HELP.includes(args[0] ?? '')
  if (!isFirst && !HELP.includes(args.at(-1) ?? '')) return undefined
  const words = isFirst ? args.slice(1) : args.slice(0, -1)
  const { help } = readTexts()
  if (words.length === 1 && HELP.includes(words[0] ?? '')) return help['']
  const command = words.join(':')
  return Object.hasOwn(help, command) ? help[command] : undefined
}

function readTexts(): ReadyTexts {
  return JSON.parse(readFileSync(new URL('./ready-texts.json', import.meta.url), 'utf8'))
}
