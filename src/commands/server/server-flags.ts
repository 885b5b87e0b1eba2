import { Flags, type Interfaces } from '@oclif/core'
import { badOption, messageOf } from '../../errors.ts'
import { adapterName } from '../../server/adapters/adapter-name.ts'
import { readKey } from '../../server/options/option-spec.ts'
import {
  KEY_VARIABLES,
  resolveServerOptions,
  SERVER_OPTIONS,
  type ServerOptions,
} from '../../server/options/options.ts'

type Defaults = Partial<
  Pick<
    ServerOptions,
    | 'port'
    | 'adapters'
    | 'debug'
    | 'record'
    | 'drainTimeout'
    | 'development'
    | 'maxBackgroundRuns'
    | 'noWorker'
    | 'workerOnly'
    | 'schedules'
  >
>

/** The flags of `serve` and `dev`: one for each option of the server. Values are checked by the options themselves. */
export function serverFlags(defaults: Defaults = {}): Interfaces.FlagInput {
  const options = Object.entries(SERVER_OPTIONS).sort(([, a], [, b]) => placeOf(a.flag) - placeOf(b.flag))
  return Object.fromEntries(
    options.map(([name, { flag, variable, description, kind, default: fallback }]) => {
      const value = defaults[name as keyof Defaults] ?? fallback
      const facts = {
        // A share of all or none is written as a switch.
        description: `${description}${describeDefault(flag === 'record' ? value !== 0 : value)}`,
        env: variable,
        helpValue: flag === 'record' ? '[<share>]' : kind === 'switch' ? '[true|false]' : '<value>',
        helpGroup: PLACES[placeOf(flag)]?.group ?? '',
      }
      return [flag, kind === 'list' ? Flags.string({ ...facts, multiple: true }) : Flags.string(facts)]
    }),
  )
}

/** Flags in the order of the help, by their groups there: the first group has no heading. */
const GROUPS: readonly (readonly [group: string, flags: string])[] = [
  ['', 'port agent-dir log-level audit-log adapter adapter-option debug-ui record schedules metrics no-watch no-v1'],
  [
    'access',
    'host public-url allowed-host require-auth compat-api-key responses-api-key mcp-api-key ui-token keys cors-origin trusted-origin auth-rate-limit trusted-proxy open-metrics jwt-issuer jwt-audience jwt-claim',
  ],
  ['store', 'store responses-dir secret-key retention-days server-name queue no-worker webhook-allow-private'],
  [
    'limit',
    'run-timeout drain-timeout streaming-timeout write-timeout body-limit max-concurrent-runs max-background-runs max-queued-runs ' +
      'max-history-items max-history-mb max-history-turns max-connections max-connections-per-address max-unsent-mb debug-max-mb',
  ],
]
const PLACES = GROUPS.flatMap(([group, flags]) => flags.split(' ').map((flag) => ({ flag, group })))

function placeOf(flag: string): number {
  const index = PLACES.findIndex((place) => place.flag === flag)
  return index === -1 ? PLACES.length : index
}

/** Nothing for a default that is empty. */
function describeDefault(value: unknown): string {
  const text = Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? '' : `${value ?? ''}`
  return text === '' ? '' : ` [default: ${text}]`
}

/** `--debug-ui` of commands that serve no page. */
export function tracingFlag(): Interfaces.FlagInput {
  const description = 'Debug mode: trace every call in ./debug, show failures to clients in full [default: false]'
  const { 'debug-ui': flag } = serverFlags()
  return flag === undefined ? {} : { 'debug-ui': { ...flag, description } }
}

/** Those of the flags with these names, for commands that take some of them. */
export function pickServerFlags(names: readonly string[], defaults: Defaults = {}): Interfaces.FlagInput {
  return Object.fromEntries(Object.entries(serverFlags(defaults)).filter(([name]) => names.includes(name)))
}

/** The store that the environment names, and its key: for commands that have no flags for them. */
export function storeOfEnvironment(): Partial<Record<keyof ServerOptions, string>> {
  const names = ['store', 'responsesDir', 'secretKey'] as const
  // An empty variable is treated as unset, as those of flags are.
  const values = names.map((name) => [name, process.env[SERVER_OPTIONS[name].variable] || undefined])
  return Object.fromEntries(values)
}

/** A switch may stand without a value: `--debug-ui` is `--debug-ui true`. */
export function fillSwitches(argv: readonly string[]): string[] {
  const switches = Object.values(SERVER_OPTIONS).filter(({ kind }) => kind === 'switch')
  const names = new Set(switches.map(({ flag }) => `--${flag}`))
  return argv.flatMap((word, index) => {
    const next = argv[index + 1]
    return names.has(word) && (next === undefined || next.startsWith('-')) ? [word, 'true'] : [word]
  })
}

/** @throws HostError `OPTION_INVALID` */
export function readServerFlags(flags: Readonly<Record<string, unknown>>, defaults: Defaults = {}): ServerOptions {
  const given = Object.entries(SERVER_OPTIONS).map(([name, { flag }]) => [name, flags[flag]])
  const raw = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  refuseUnusableKeys({ ...defaults, ...raw })
  return resolveServerOptions({ ...defaults, ...raw })
}

/** An adapter whose key is set, to nothing, was not meant to be open: in a script, the variable behind it is missing. */
function refuseUnusableKeys(raw: Partial<Record<keyof ServerOptions, unknown>>): void {
  const names = [raw.adapters ?? []].flat().flatMap((paths) => String(paths).split(',').map(adapterName))
  for (const name of names) {
    const variables = KEY_VARIABLES[name] ?? []
    const option = Object.entries(SERVER_OPTIONS).find(([, { variable }]) => variable === variables[0])?.[0]
    if (option !== undefined && raw[option as keyof ServerOptions] !== undefined) continue
    const values = variables.map((variable) => [variable, process.env[variable]] as const)
    const [variable, value] = values.find(([, text]) => text) ?? values.find(([, text]) => text !== undefined) ?? []
    if (variable !== undefined) checkKey(variable, value, name)
  }
}

function checkKey(variable: string, value: string | undefined, adapter: string): void {
  try {
    readKey(value)
  } catch (cause) {
    throw badOption(`${variable} ${messageOf(cause)}.`, {
      suggestions: [`${adapter} would be open. Set ${variable} to a key, or unset it to serve without one.`],
      cause,
    })
  }
}
