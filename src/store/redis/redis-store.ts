import { randomUUID } from 'node:crypto'
import type { Redis, RedisOptions } from 'ioredis'
import { withDeadline } from '../../async.ts'
import { badOption, HostError } from '../../errors.ts'
import { describeProcess } from '../../process-identity.ts'
import { DEADLINE_MS } from '../checked-store.ts'
import { GroupCommit, type PendingCommit } from '../group-commit.ts'
import { Heartbeat, type Sighting } from '../heartbeat.ts'
import { boundsOf, endOf } from '../key-bounds.ts'
import { readStatements } from '../read-statements.ts'
import type { AscendingRange, Change, Entry, Guards, KeyRange, Prepare, RecordStore } from '../record-store.ts'
import { Watchers } from '../watchers.ts'
import { isDemoted } from './is-demoted.ts'
import type { RedisLocation } from './redis-location.ts'

export type RedisPackage = Pick<typeof import('ioredis'), 'Redis'>

/** Error of a command, with all that was sent. */
interface ReplyError extends Error {
  command?: { readonly name: string }
}

type Arguments = readonly (string | number)[]

/** The client with the scripts of this store as commands. Their arguments are one array: a call with 100,000 of them ends the process. */
interface ScriptedRedis extends Redis {
  commitRecords(args: Arguments): Promise<number[]>
  readEntries(args: Arguments): Promise<string[][]>
  beatServer(args: Arguments): Promise<string[]>
}

const COMMAND_TIMEOUT_MS = 4500
const MAX_RECONNECT_MS = 500
/** Servers that gave no sign of life for longer are forgotten. */
const FORGET_AFTER_MS = 24 * 60 * 60 * 1000

/** Records in Redis or Valkey. Commits that come together are one script. */
export class RedisStore implements RecordStore {
  readonly serverId = randomUUID()
  readonly #redis: ScriptedRedis
  readonly #subscriber: Redis
  readonly #keys: { readonly records: readonly [string, string]; readonly servers: string; readonly channel: string }
  readonly #watchers = new Watchers()
  readonly #heartbeat = new Heartbeat((silent) => this.#beat(silent))
  #isOpen = false
  #connectionError: Error | undefined
  readonly #commits = new GroupCommit({ run: (commits) => this.#commitGroup(commits) })

  private constructor({ Redis }: RedisPackage, { url, sentinel, prefix }: RedisLocation) {
    const name = (key: string) => `{${prefix}}:${key}`
    this.#keys = { records: [name('records'), name('keys')], servers: name('servers'), channel: name('topics') }
    // The first connection fails at once.
    const sentinelRetryStrategy = (times: number) => (this.#isOpen ? reconnectMs(times) : null)
    const settings = sentinel ? { ...SETTINGS, ...SENTINEL_SETTINGS, ...sentinel, sentinelRetryStrategy } : SETTINGS
    const reconnectOnError = (error: Error) => isDemoted(error) && this.#leaveDemoted()
    this.#redis = new Redis(url, { ...settings, reconnectOnError, scripts: readScripts() }) as ScriptedRedis
    this.#subscriber = new Redis(url, settings)
    for (const client of [this.#redis, this.#subscriber]) this.#noteFailures(client)
    this.#subscriber.on('message', (_channel, payload: string) => this.#onMessage(payload))
    this.#subscriber.on('ready', () => this.#subscribe())
  }

  /**
   * @param warn receives warnings for the operator
   * @param prepare called before the first sign of life
   * @throws HostError `OPTION_INVALID` when Redis may throw records away, or is a node of a cluster
   */
  static async open(
    redis: RedisPackage,
    location: RedisLocation,
    warn: (message: string) => void,
    prepare?: Prepare,
  ): Promise<RedisStore> {
    const store = new RedisStore(redis, location)
    try {
      const connecting = Promise.all([store.#redis.connect(), store.#subscriber.connect()])
      // The client itself waits for as long as Redis loads its data.
      await withDeadline(
        connecting,
        DEADLINE_MS,
        () => new Error('Redis was not ready within 5 s: it may be loading data'),
      )
      store.#isOpen = true
      checkServer(await store.#redis.info(), warn)
      await prepare?.(store)
      await Promise.all([store.#subscriber.subscribe(store.#keys.channel), store.#heartbeat.start()])
      return store
    } catch (error) {
      store.#disconnect()
      // A failed `connect` only says that the connection is closed.
      throw error instanceof HostError ? error : (store.#connectionError ?? withoutCommand(error as Error))
    }
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    if (keys.length === 0) return []
    const values = await this.#answer(this.#redis.hmget(this.#keys.records[0], ...keys))
    return values.map((value) => value ?? undefined)
  }

  async list(range: KeyRange): Promise<string[]> {
    const { from, to, order, limit } = boundsOf(range)
    const [low, high] = [`[${from}`, `(${to}`]
    return this.#answer(
      order === 'asc'
        ? this.#redis.zrangebylex(this.#keys.records[1], low, high, 'LIMIT', 0, limit)
        : this.#redis.zrevrangebylex(this.#keys.records[1], high, low, 'LIMIT', 0, limit),
    )
  }

  async entries(range: KeyRange): Promise<Entry[]> {
    const { from, to, order, limit } = boundsOf(range)
    const [flat = []] = await this.#readEntries([from, to, order, limit])
    return inPairs(flat)
  }

  async entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    const args = ranges.flatMap((range) => {
      const { from, to, order, limit } = boundsOf(range)
      return [from, to, order, limit]
    })
    return (await this.#readEntries(args)).map(inPairs)
  }

  async commit(changes: readonly Change[], guards: Guards = {}, notify: readonly string[] = []): Promise<boolean> {
    const isDone = await this.#commits.add({ changes, guards, notify })
    if (isDone) this.#watchers.notify(notify)
    return isDone
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#watchers.add(topics, onNotice)
  }

  async isServerAlive(serverId: string): Promise<boolean> {
    const seen = await this.#answer(this.#redis.hget(this.#keys.servers, serverId))
    return this.#heartbeat.isAlive(seen === null ? undefined : toSighting([serverId, seen]))
  }

  async now(): Promise<number> {
    const [seconds, microseconds] = await this.#answer(this.#redis.time())
    return Number(seconds) * 1000 + Number(microseconds) / 1000
  }

  /** Does nothing: removed data leaves the file of Redis when Redis rewrites it. */
  async purge(): Promise<void> {}

  async close(): Promise<void> {
    this.#heartbeat.stop()
    await this.#commits.settle()
    await this.#redis.hdel(this.#keys.servers, this.serverId).catch(() => {})
    this.#disconnect()
  }

  /** Callers get the failures; the client reconnects by itself. */
  #noteFailures(client: Redis): void {
    client.on('connect', () => {
      this.#connectionError = undefined
    })
    client.on('error', (error: ReplyError) => {
      // The client would go on in database 0.
      if (error.command?.name === 'select') client.disconnect(true)
      this.#connectionError ??= withoutCommand(error)
    })
    // More precise than the error that follows it.
    client.on('sentinelError', (error: Error) => {
      this.#connectionError = error
    })
  }

  #readEntries(args: Arguments): Promise<string[][]> {
    return this.#answer(this.#redis.readEntries([...this.#keys.records, ...args]))
  }

  /** Without a connection, calls only fail because they cannot be sent: callers get the reason that there is none. */
  #answer<T>(call: Promise<T>): Promise<T> {
    return call.catch((error) => {
      const known = this.#redis.status === 'ready' ? undefined : this.#connectionError
      throw known ?? withoutCommand(error)
    })
  }

  async #commitGroup(commits: readonly PendingCommit[]): Promise<boolean[]> {
    const { records, channel } = this.#keys
    const args: (string | number)[] = [...records, channel, this.serverId]
    for (const commit of commits) addArguments(args, commit)
    const done = await this.#answer(this.#redis.commitRecords(args))
    return done.map((one) => one === 1)
  }

  async #beat(silent: readonly string[]): Promise<Sighting[]> {
    const args = [this.#keys.servers, this.serverId, describeProcess(), FORGET_AFTER_MS, ...silent]
    // An unanswered one ends the connection, as an unanswered command does.
    this.#subscriber.ping().catch(() => {})
    return inPairs(await this.#redis.beatServer(args)).map(toSighting)
  }

  /** The subscriber reads only, so that a replica would keep it, and perhaps hear of nothing any more. */
  #leaveDemoted(): true {
    this.#subscriber.disconnect(true)
    return true
  }

  /** Again after each interruption, in which messages may have been lost. */
  #subscribe(): void {
    this.#subscriber.subscribe(this.#keys.channel).then(
      () => this.#watchers.notifyAll(),
      () => {},
    )
  }

  #onMessage(payload: string): void {
    const [sender, ...topics] = payload.split(' ')
    if (sender !== this.serverId) this.#watchers.notify(topics)
  }

  #disconnect(): void {
    this.#redis.disconnect()
    this.#subscriber.disconnect()
  }
}

const SETTINGS: RedisOptions = {
  lazyConnect: true,
  enableAutoPipelining: true,
  // While Redis is down a call fails at once, and nothing is sent a second time: it may have happened.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  connectTimeout: COMMAND_TIMEOUT_MS,
  commandTimeout: COMMAND_TIMEOUT_MS,
  // A server that Sentinel has replaced may be unable to close its connections.
  socketTimeout: COMMAND_TIMEOUT_MS,
  retryStrategy: reconnectMs,
}

const SENTINEL_SETTINGS: RedisOptions = { sentinelCommandTimeout: COMMAND_TIMEOUT_MS }

function readScripts(): NonNullable<RedisOptions['scripts']> {
  return {
    commitRecords: { lua: readStatements(new URL('./commit.lua', import.meta.url)), numberOfKeys: 2 },
    readEntries: { lua: readStatements(new URL('./entries.lua', import.meta.url)), numberOfKeys: 2, readOnly: true },
    beatServer: { lua: readStatements(new URL('./beat.lua', import.meta.url)), numberOfKeys: 1 },
  }
}

/** Takes the command from an error: printed, it would show passwords and records. */
function withoutCommand(error: ReplyError): Error {
  delete error.command
  return error
}

function reconnectMs(times: number): number {
  return Math.min(times * 50, MAX_RECONNECT_MS)
}

/** Adds the lists of a commit, as the script takes them. */
function addArguments(args: (string | number)[], { changes, guards, notify }: PendingCommit): void {
  const { present = [], absent = [], equal = [] } = guards
  // A key that is named twice has the value that was named last.
  const last = [...new Map(changes)]
  const removals = last.filter(([, value]) => value === undefined)
  args.push(present.length, ...present, absent.length)
  for (const prefix of absent) args.push(prefix, endOf(prefix))
  args.push(equal.length)
  for (const [key, value] of equal) args.push(key, value)
  args.push(last.length - removals.length)
  for (const [key, value] of last) if (value !== undefined) args.push(key, value)
  args.push(removals.length)
  for (const [key] of removals) args.push(key)
  args.push(notify.length, ...notify)
}

/** Reads the time of the heartbeat, and the process. */
function toSighting([id, seen]: Entry): Sighting {
  const end = seen.indexOf(' ')
  return { id, sign: seen.slice(0, end), process: seen.slice(end + 1) }
}

function inPairs(flat: readonly string[]): Entry[] {
  return Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] as string, flat[2 * n + 1] as string])
}

function checkServer(info: string, warn: (message: string) => void): void {
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
  if (read('redis_mode') === 'cluster') {
    throw badOption('The Redis of --store is a node of a cluster, and clusters are not supported.', {
      suggestions: [
        'Use a server of its own: one cluster node would hold all records. Sentinel replaces a server that fails.',
      ],
    })
  }
  const policy = read('maxmemory_policy')
  if (policy !== undefined && policy !== 'noeviction') {
    throw badOption(`Redis may throw stored responses away: its maxmemory-policy is ${policy}.`, {
      suggestions: ['Set it: redis-cli config set maxmemory-policy noeviction'],
    })
  }
  if (read('aof_enabled') === '0') {
    warn('Redis writes no append-only file: responses stored since its last snapshot are lost when it stops.')
  }
}
