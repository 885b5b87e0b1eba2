import { readFileSync } from 'node:fs'

/** What `finish-build` wrote: the version, and the help of each command; of the whole under the empty name. */
interface ReadyTexts {
  readonly version: string
  readonly help: Readonly<Record<string, string>>
}

/** The answer to a call for help or the version; `undefined` when the call is for anything else. */
export function readyText(args: readonly string[]): string | undefined {
  const [first, second] = args
  if (args.length > 2 || (args.length === 2 && !isHelp(first) && !isHelp(second))) return undefined
  if (args.length === 1 && (first === '--version' || first === '-v' || first === 'version')) return readTexts().version
  if (args.length === 0 || (args.length === 1 && isHelp(first))) return readTexts().help['']
  const command = args.find((word) => !isHelp(word)) ?? ''
  return args.some(isHelp) ? readTexts().help[command] : undefined
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h' || word === 'help'
}

function readTexts(): ReadyTexts {
  return JSON.parse(readFileSync(new URL('./ready-texts.json', import.meta.url), 'utf8'))
}
