import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { LOG_LEVELS, type LogLevel } from '../../assembly/project-log.ts'
import type { ProjectOptions } from '../../assembly/project-options.ts'
import { didYouMean } from '../../definition/nearest-name.ts'
import { badOption, messageOf } from '../../errors.ts'
import { object, optional, requireGiven, TEXT } from '../../given.ts'
import { type Fields, isObject } from '../../json.ts'
import { isRedisUrl } from '../../store/redis/redis-location.ts'
import { isSecure } from '../guards/host-check.ts'
import { makeIsProxy } from '../guards/trusted-proxies.ts'
import {
  key,
  list,
  number,
  type OptionSpec,
  option,
  readBytes,
  readList,
  readSecret,
  readShare,
  readText,
  readToken,
  text,
  toggle,
} from './option-spec.ts'

/** The options of a server, complete and checked. Frozen. */
export interface ServerOptions extends ProjectOptions {
  /** True under `agent-host dev`: the debug UI may then act (call a tool, clear traces), not only look. */
  readonly development: boolean
  /** True for `agent-host worker`: it carries out background responses, and serves no API. */
  readonly workerOnly: boolean
  /** Serves the agents as they are at the start, until a signal has them read again. */
  readonly noWatch: boolean
  readonly adapters: readonly string[]
  /** Options of single adapters, by the adapter's name. */
  readonly adapterOptions: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly host: string
  readonly port: number
  readonly compatApiKey?: string | undefined
  readonly mcpApiKey?: string | undefined
  readonly responsesApiKey?: string | undefined
  /** Token of the debug UI. */
  readonly uiToken?: string | undefined
  /** Absolute path of the file of keys. */
  readonly keys?: string | undefined
  /** Seconds. */
  readonly streamingTimeout: number
  /** Bytes. */
  readonly bodyLimit: number
  readonly allowedHosts: readonly string[]
  /** Origins that pages may ask from; empty allows every one. */
  readonly corsOrigins: readonly string[]
  /** Origins whose pages decide, and see content, as the server's own do. */
  readonly trustedOrigins: readonly string[]
  /** 0 for no limit, as for the next. */
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Seconds. */
  readonly writeTimeout: number
  /** Of all connections together, in MiB. */
  readonly maxUnsentMb: number
  /** Wrong keys of one address in a minute; 0 for no limit. */
  readonly authRateLimit: number
  /** Addresses, and subnets like 10.0.0.0/8, of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: readonly string[]
  /** Issuer of tokens that are taken in place of keys, as they name it; undefined for none. */
  readonly jwtIssuer?: string | undefined
  /** Whom its tokens are for. */
  readonly jwtAudience?: string | undefined
  /** Claims of its tokens by what they say: `tenant=org_id`. */
  readonly jwtClaims: readonly string[]
  readonly requireAuth: boolean
  /** Serves `GET /metrics`. */
  readonly metrics: boolean
  /** Leaves `GET /metrics` without a key where keys are required elsewhere. */
  readonly openMetrics: boolean
  /** Has holders of a key with the scope `debug` make variants of agents, and requests name them. */
  readonly allowVariants: boolean
  /** Leaves out the dialect of the vendors, under `/v1`. */
  readonly noV1: boolean
  /** Begins the runs of agents' schedules at their due times. */
  readonly schedules: boolean
}

/** Options that no flag stands for. */
type Unnamed = 'projectDir' | 'development' | 'workerOnly'

type OptionSpecs = {
  readonly [Name in keyof Omit<ServerOptions, Unnamed>]-?: OptionSpec<ServerOptions[Name]>
}

/** Every option once. Flags, environment variables and checks follow from it. */
export const SERVER_OPTIONS: OptionSpecs = {
  agentDir: text('agent-dir', './agents', 'Folder of the agent files'),
  adapters: list('adapter', 'Adapter to serve, by its dotted path or ./file.ts#Name; can be given several times'),
  adapterOptions: option(
    'adapter-option',
    Object.freeze({}),
    'Option of one adapter, as <Adapter>.<option>=<value>; can be given several times',
    readAdapterOptions,
    'list',
  ),
  host: option('host', '127.0.0.1', 'Address to bind', readHost),
  port: number('port', 8000, 'Port; 0 takes a free one', { min: 0, max: 65_535 }),
  publicUrl: option(
    'public-url',
    undefined,
    'Address at which people reach the server; sign-ins at other sites return there [default: http://<host>:<port>]',
    readUrl,
  ),
  debug: toggle(
    'debug-ui',
    'Debug mode: serve the debug UI, trace every call in ./debug, show failures to clients in full',
  ),
  debugMaxMb: number(
    'debug-max-mb',
    256,
    "Maximum size of an agent's trace files, and of all tapes together, in MiB; the oldest are deleted",
    {
      min: 1,
      max: 1_000_000,
    },
  ),
  record: option(
    'record',
    0,
    'Record a tape of each run in ./debug/tapes, or of a part of them: true, false, 0.1 or 10%',
    readShare,
    'switch',
  ),
  compatApiKey: key(
    'compat-api-key',
    'CUSTOM_COMPAT_API_KEY',
    'API key required by the chat adapter, or named keys: name:run:key,...',
  ),
  mcpApiKey: key(
    'mcp-api-key',
    'MCP_API_KEY',
    'API key required by the MCP adapter, or named keys: name:run+approve:key,...',
  ),
  responsesApiKey: key(
    'responses-api-key',
    'RESPONSES_API_KEY',
    'API key required by the responses adapter, or named keys: name:run+approve:key,...',
  ),
  uiToken: option('ui-token', undefined, 'Token required by the debug UI and its API', readToken),
  keys: option('keys', undefined, 'File of keys with tenants and scopes: every adapter then requires a key', readText),
  responsesDir: text('responses-dir', './responses', 'Folder of the stored responses'),
  store: option(
    'store',
    'sqlite',
    'Store of the responses: sqlite (in their folder), postgres://..., redis://..., redis+sentinel://... or keyv-sqlite:<path>',
    readStore,
  ),
  serverName: option(
    'server-name',
    '',
    'Name of this server among those that share the store [default: host name and process id]',
    readServerName,
  ),
  queue: option(
    'queue',
    undefined,
    'BullMQ queue that distributes background responses, as redis://...; without it workers poll the store',
    readQueue,
  ),
  secretKey: option(
    'secret-key',
    undefined,
    'Secret of at least 32 characters that encrypts values that clients or the store keep, such as sign-ins; without it the store generates and keeps one',
    readSecret,
  ),
  retentionDays: {
    ...number('retention-days', 0, 'Days after which stored responses are deleted; without it they are kept', {
      min: 1,
      max: 36_500,
    }),
    default: undefined,
  },
  streamingTimeout: number('streaming-timeout', 10, 'Idle seconds after which a stream gets a keep-alive', {
    min: 1,
    max: 3600,
  }),
  bodyLimit: option('body-limit', 10 * 1024 * 1024, 'Largest request body, in bytes or with a unit: 512kb', readBytes),
  allowedHosts: list(
    'allowed-host',
    'Host name to serve in addition to those of this machine; can be given several times',
  ),
  corsOrigins: list(
    'cors-origin',
    'Origin whose pages may use the server; can be given several times [default: every origin]',
    readOrigins,
  ),
  trustedOrigins: list(
    'trusted-origin',
    "Origin whose pages may decide approvals and see debug data, as the server's own; can be given several times",
    readOrigins,
  ),
  auditLog: option(
    'audit-log',
    undefined,
    'File of JSON lines that say who did what: runs, calls of tools, decisions, refusals, changes of keys and agents',
    readText,
  ),
  logLevel: option('log-level', 'info', `One of ${LOG_LEVELS.join(', ')}`, readLogLevel),
  maxConcurrentRuns: number('max-concurrent-runs', 10_000, 'Concurrent runs; further requests get 503', {
    min: 1,
    max: 1_000_000,
  }),
  maxBackgroundRuns: number(
    'max-background-runs',
    1000,
    'Concurrent background responses, in slots of their own; further ones wait',
    {
      min: 1,
      max: 1_000_000,
    },
  ),
  maxQueuedRuns: number('max-queued-runs', 10_000, 'Queued background responses; further ones get 503', {
    min: 1,
    max: 1_000_000,
  }),
  noWorker: toggle('no-worker', 'Leave background responses to other processes that share the store'),
  webhookAllowPrivate: toggle('webhook-allow-private', 'Send webhooks to addresses that are not public, too'),
  schedules: toggle('schedules', "Run agents at the times of their files' schedules"),
  runTimeout: number('run-timeout', 3600, 'Seconds after which a run is aborted; 0 for no limit', {
    min: 0,
    max: 31_536_000,
  }),
  drainTimeout: number('drain-timeout', 10, 'Seconds for running work to finish when the server stops', {
    min: 0,
    max: 3600,
  }),
  maxHistoryItems: number('max-history-items', 10_000, 'Maximum messages of one conversation', {
    min: 1,
    max: 1_000_000,
  }),
  maxHistoryMb: number('max-history-mb', 32, 'Maximum size of one conversation, in MiB', { min: 1, max: 1024 }),
  maxHistoryTurns: number('max-history-turns', 1000, 'Maximum turns of one conversation', {
    min: 1,
    max: 100_000,
  }),
  maxConnections: number('max-connections', 20_000, 'Open connections; 0 for no limit', { min: 0, max: 1_000_000 }),
  maxConnectionsPerAddress: number('max-connections-per-address', 0, 'Open connections per address; 0 for no limit', {
    min: 0,
    max: 1_000_000,
  }),
  writeTimeout: number(
    'write-timeout',
    30,
    'Seconds without progress after which a client that does not read is disconnected',
    {
      min: 1,
      max: 3600,
    },
  ),
  maxUnsentMb: number(
    'max-unsent-mb',
    256,
    'Unread answers of all connections, in MiB; beyond it the largest are disconnected',
    {
      min: 1,
      max: 1_000_000,
    },
  ),
  authRateLimit: number(
    'auth-rate-limit',
    0,
    'Wrong keys per address and minute; further ones get 429; 0 for no limit',
    {
      min: 0,
      max: 1_000_000,
    },
  ),
  trustedProxies: list(
    'trusted-proxy',
    'Address or subnet (10.0.0.0/8) of a proxy whose X-Forwarded-For names the client; can be given several times',
    readProxies,
  ),
  jwtIssuer: option(
    'jwt-issuer',
    undefined,
    'Issuer of tokens (JWT) that requests may have instead of a key: every adapter then requires a token or a key',
    readIssuer,
  ),
  jwtAudience: option('jwt-audience', undefined, 'Audience of the tokens; required with --jwt-issuer', readText),
  jwtClaims: list(
    'jwt-claim',
    'Claim that says the tenant, the user or the scopes of a token: tenant=org_id; can be given several times [default: user=sub]',
    readClaims,
  ),
  requireAuth: toggle('require-auth', 'Refuse to start without keys when bound beyond this machine'),
  metrics: toggle('metrics', 'Serve GET /metrics, in the text format of Prometheus'),
  openMetrics: toggle('open-metrics', 'Serve GET /metrics without a key, also with --keys or --require-auth'),
  allowVariants: toggle(
    'allow-variants',
    'Let keys with the scope debug change prompts, models and other values of agents for single requests',
  ),
  noWatch: toggle('no-watch', 'Serve the agents as they are at the start; SIGHUP reads them again'),
  noV1: toggle('no-v1', 'Serve the chat and responses APIs only under /compat, not under /v1'),
}

/** The variables that may hold the key of each adapter; the first is that of its option. */
export const KEY_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  ChatCompatApiAdapter: ['CUSTOM_COMPAT_API_KEY', 'COMPAT_API_KEY'],
  ResponsesCompatApiAdapter: ['RESPONSES_API_KEY'],
  McpApiAdapter: ['MCP_API_KEY'],
  UiApiAdapter: ['AGENT_HOST_UI_TOKEN'],
}

/**
 * Checks options and fills in the defaults. Values may be texts, as a command line has them.
 *
 * @throws HostError `OPTION_INVALID` naming the option and its valid values
 */
export function resolveServerOptions(raw: Partial<Record<keyof ServerOptions, unknown>>): ServerOptions {
  requireOptions(raw)
  const known = ['projectDir', 'development', 'workerOnly', ...Object.keys(SERVER_OPTIONS)]
  const unknownName = Object.keys(raw).find((name) => !known.includes(name))
  if (unknownName !== undefined) {
    throw badOption(`There is no option '${unknownName}'.`, {
      suggestions: didYouMean(unknownName, known),
    })
  }
  const projectDir = resolve(String(raw.projectDir ?? '.'))
  const entries = Object.entries(SERVER_OPTIONS).map(([name, facts]) => [name, readOption(name, facts, raw)])
  const options = Object.fromEntries(entries) as Omit<ServerOptions, Unnamed>
  const agentDir = resolve(projectDir, options.agentDir)
  const responsesDir = resolve(projectDir, options.responsesDir)
  const keys = options.keys && resolve(projectDir, options.keys)
  const [development, workerOnly] = [raw.development === true, raw.workerOnly === true]
  const serverName = options.serverName || nameServer()
  const publicUrl = options.publicUrl ?? addressOf(options)
  return Object.freeze({
    ...options,
    publicUrl,
    serverName,
    projectDir,
    development,
    workerOnly,
    agentDir,
    responsesDir,
    keys,
    auditLog: options.auditLog && resolve(projectDir, options.auditLog),
  })
}

/** @throws HostError `OPTION_INVALID` for anything but an object */
export function requireOptions(raw: unknown): void {
  try {
    requireGiven(object({ projectDir: optional(TEXT) }), raw, 'options')
  } catch (error) {
    throw badOption(messageOf(error))
  }
}

function addressOf({ host, port }: Pick<ServerOptions, 'host' | 'port'>): string {
  return `${originOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)}:${port}`
}

function originOf(host: string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}`
}

function readOption(name: string, facts: OptionSpec, raw: Partial<Record<string, unknown>>): unknown {
  const value = raw[name]
  if (value === undefined) return facts.default
  try {
    return facts.read(value)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw badOption(`--${facts.flag} (${facts.variable}) ${reason}.`, { cause })
  }
}

function readAdapterOptions(raw: unknown): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  if (isObject(raw)) return Object.fromEntries(Object.entries(raw).map(copyOptions))
  const options: Record<string, Record<string, string>> = {}
  for (const text of [raw].flat()) {
    const [, adapter, name, value] = /^([\w-]+)\.([\w-]+)=(.*)$/s.exec(String(text)) ?? []
    if (adapter === undefined || name === undefined) {
      throw new Error(`must look like SlackAdapter.channel=general, not '${text}'`)
    }
    options[adapter] = { ...options[adapter], [name]: value ?? '' }
  }
  return options
}

function copyOptions([adapter, options]: [string, unknown]): [string, Fields] {
  if (isObject(options)) return [adapter, structuredClone(options)]
  throw new Error(`must have an object of names and values for ${adapter}`)
}

function readHost(raw: unknown): string {
  const text = String(raw)
  if (URL.canParse(originOf(text)) && !/[/?#@]/.test(text)) return text
  throw new Error(`must be a host name or an IP address, not '${text}'`)
}

function readStore(raw: unknown): string {
  const text = String(raw)
  if (/^sqlite$|^keyv-sqlite:./.test(text)) return text
  refuseUnencoded(text)
  if ((/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) || isRedisUrl(text)) return text
  throw new Error(
    `must be sqlite, postgres://..., redis://..., redis+sentinel://... or keyv-sqlite:<path>, not '${withoutAddress(text)}'`,
  )
}

function readServerName(raw: unknown): string {
  const text = String(raw)
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(text)) return text
  throw new Error(`must consist of letters, digits, '.', '_' and '-', 128 at most, not '${text}'`)
}

function nameServer(): string {
  return `${hostname().replace(/[^A-Za-z0-9_.-]/g, '-')}-${process.pid}`
}

function readQueue(raw: unknown): string {
  const text = String(raw)
  refuseUnencoded(text)
  if (/^rediss?:\/\//.test(text) && URL.canParse(text)) return text
  throw new Error(`must be redis://..., not '${withoutAddress(text)}'`)
}

/** A sign of a password that ends the user's part of an address would make the rest of the password a host, which errors name. */
function refuseUnencoded(text: string): void {
  const [address = ''] = text.replace(/^.*?:\/\//, '').split(/\?(?=[\w.-]+=)/)
  const user = address.slice(0, Math.max(address.lastIndexOf('@'), 0))
  if (/[/?#]/.test(user) || address.includes('#') || /%(?![\da-f]{2})/i.test(user)) {
    throw new Error('must have its user and password percent-encoded: # is %23, % is %25, / is %2F, ? is %3F, @ is %40')
  }
}

/** The scheme alone: the rest may contain a password. */
function withoutAddress(text: string): string {
  return text.replace(/(:\/\/).*/, '$1...')
}

function readUrl(raw: unknown): string {
  const url = URL.parse(String(raw))
  if (url && url.username + url.password !== '')
    throw new Error('must be an address without a user name and a password')
  if (url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return url.href.replace(/\/$/, '')
  throw new Error(`must be an address such as https://agents.example, not '${raw}'`)
}

function readOrigins(raw: unknown): readonly string[] {
  const origins = readList(raw)
  for (const item of origins) {
    if (URL.canParse(item) && new URL(item).origin === item.toLowerCase()) continue
    throw new Error(`must be an origin such as https://app.example, not '${item}'`)
  }
  return Object.freeze(origins.map((item) => item.toLowerCase()))
}

function readProxies(raw: unknown): readonly string[] {
  const subnets = readList(raw)
  makeIsProxy(subnets)
  return subnets
}

function readIssuer(raw: unknown): string {
  const text = String(raw)
  readUrl(text)
  if (isSecure(text)) return text
  throw new Error(`must be the https address that the tokens name as their issuer, not '${text}'`)
}

const CLAIM = /^(tenant|user|scopes)=[^=]+$/

function readClaims(raw: unknown): readonly string[] {
  const claims = readList(raw)
  const wrong = claims.find((claim) => !CLAIM.test(claim))
  if (wrong === undefined) return claims
  throw new Error(`must be tenant=<claim>, user=<claim> or scopes=<claim>, not '${wrong}'`)
}

function readLogLevel(raw: unknown): LogLevel {
  const level = LOG_LEVELS.find((name) => name === raw)
  if (level) return level
  throw new Error(`must be one of ${LOG_LEVELS.join(', ')}, not '${raw}'`)
}
