import { hash } from 'node:crypto'
import { type StatsListener, unwatchFile, watchFile } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { decodeText } from '../../decode-text.ts'
import { NAME_PATTERN } from '../../definition/definition.ts'
import { type Environment, interpolate } from '../../definition/interpolate.ts'
import { formatProblem } from '../../definition/problem.ts'
import { findValueProblems, type ValueProblem } from '../../definition/schema-problems.ts'
import { findSecretProblem } from '../../definition/secret-problem.ts'
import { readYaml } from '../../definition/yaml-source.ts'
import { HostError, messageOf, systemCodeOf } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import { readRegularFile } from '../../read-regular-file.ts'
import { EVENT_TYPES, type EventType } from './event-types.ts'

export const WEBHOOKS_FILE = 'webhooks.yml'
const LOOK_EVERY_MS = 500
const MAX_BYTES = 256 * 1024

const Secret = Type.String({ minLength: 1 })
const HookSchema = Type.Object({
  url: Type.String({ minLength: 1 }),
  secret: Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 2 })]),
  events: Type.Array(Type.Unsafe<EventType>(Type.Union(EVENT_TYPES.map((type) => Type.Literal(type)))), {
    minItems: 1,
  }),
  agents: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  tenants: Type.Optional(Type.Array(Type.String({ pattern: NAME_PATTERN }), { minItems: 1 })),
})
const FileSchema = Type.Object({ webhooks: Type.Array(HookSchema, { maxItems: 100 }) })

/** Receiver of events. */
export interface Webhook {
  /** Digest of its address. */
  readonly id: string
  readonly url: URL
  /** Address without what may be secret in it. */
  readonly shown: string
  readonly secrets: readonly string[]
  readonly events: ReadonlySet<EventType>
  /** Undefined for all. */
  readonly agents: readonly string[] | undefined
  /** The nameless one where the file names none. */
  readonly tenants: readonly string[]
}

/**
 * Reads the webhooks of a project: none without the file.
 *
 * @throws HostError `OPTION_INVALID` that names each place which is wrong, without secrets
 */
export async function readWebhooks(projectDir: string, environment: Environment): Promise<readonly Webhook[]> {
  const text = await readText(join(projectDir, WEBHOOKS_FILE))
  if (text === undefined) return []
  const source = readYaml(text, { maxBytes: MAX_BYTES, kind: 'a file of webhooks' })
  const { value, problems: missing } = interpolate(source.value, FileSchema, environment)
  const found = missing.length > 0 ? missing : findProblems(value)
  const problems =
    source.problems.length > 0
      ? source.problems
      : found.map((problem) => ({ ...problem, ...source.locate(problem.path) }))
  if (problems.length === 0) return (value as Static<typeof FileSchema>).webhooks.map(toWebhook)
  const message = problems.map((problem) => formatProblem({ ...problem, file: WEBHOOKS_FILE })).join('\n')
  throw new HostError('OPTION_INVALID', message, { suggestions: problems.flatMap(({ suggestions }) => suggestions) })
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return decodeText(await readRegularFile(path), WEBHOOKS_FILE, () => {})
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT') return undefined
    throw new HostError('OPTION_INVALID', `${WEBHOOKS_FILE} cannot be read: ${messageOf(cause)}.`, { cause })
  }
}

function findProblems(value: unknown): ValueProblem[] {
  const problems = findValueProblems(FileSchema, Compile(FileSchema), value)
  return problems.length > 0 ? problems : findMistakes((value as Static<typeof FileSchema>).webhooks)
}

function findMistakes(hooks: Static<typeof FileSchema>['webhooks']): ValueProblem[] {
  const urls = hooks.map(({ url }) => url)
  return hooks.flatMap(({ url, secret }, index) => {
    const at = (field: string, message: string) => ({ path: ['webhooks', index, field], message, suggestions: [] })
    const problem = [secret]
      .flat()
      .map((each) => findSecretProblem(each, true))
      .find((each) => each !== undefined)
    return [
      ...(isAddress(url) ? [] : [at('url', 'url must be an http or https address, without a name and password.')]),
      ...(urls.indexOf(url) === index ? [] : [at('url', 'Another webhook has this address: list its events in one.')]),
      ...(problem === undefined ? [] : [at('secret', `secret ${problem}.`)]),
    ]
  })
}

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'http:' || protocol === 'https:') && username + password === ''
}

function toWebhook({ url: text, secret, events, agents, tenants = [''] }: Static<typeof HookSchema>): Webhook {
  const url = new URL(text)
  const id = hash('sha256', url.href).slice(0, 16)
  return {
    id,
    url,
    shown: url.origin + url.pathname,
    secrets: [secret].flat(),
    events: new Set(events),
    agents,
    tenants,
  }
}

/** Webhooks of a project as its file is now. A file that is wrong changes nothing: the last good version stays. */
export class FollowedWebhooks {
  readonly #projectDir: string
  readonly #log: Pick<Log, 'error'>
  readonly #environment: Environment
  /** The webhooks at this moment. A field: every stored run asks. */
  all: readonly Webhook[] = []
  #problem: string | undefined
  #reading = Promise.resolve()
  #onRead = () => {}
  readonly #listener: StatsListener = () => void this.#readAgain()

  constructor(projectDir: string, log: Pick<Log, 'error'>, environment: Environment = process.env) {
    this.#projectDir = projectDir
    this.#log = log
    this.#environment = environment
  }

  /** Says why the file is not in use as it stands, without what is in it; undefined when it is. */
  get problem(): string | undefined {
    return this.#problem
  }

  /**
   * Reads the file, and follows it from now on if it has webhooks.
   *
   * @throws as {@link readWebhooks}
   */
  async open(): Promise<void> {
    this.all = await readWebhooks(this.#projectDir, this.#environment)
    if (this.all.length > 0) await this.follow(this.#onRead)
  }

  /** Follows the file from now on. @param onRead called when it was read */
  async follow(onRead: () => void): Promise<void> {
    this.close()
    this.#onRead = onRead
    // A look, not a notice: mounted files are changed by a link elsewhere.
    watchFile(join(this.#projectDir, WEBHOOKS_FILE), { interval: LOOK_EVERY_MS, persistent: false }, this.#listener)
    await this.#readAgain()
  }

  /** Reads follow each other: an earlier version must not replace a later one. */
  #readAgain(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read())
    return this.#reading
  }

  close(): void {
    unwatchFile(join(this.#projectDir, WEBHOOKS_FILE), this.#listener)
  }

  async #read(): Promise<void> {
    try {
      this.all = await readWebhooks(this.#projectDir, this.#environment)
      this.#problem = undefined
      this.#onRead()
    } catch (error) {
      this.#problem = `${WEBHOOKS_FILE} cannot be used as it is now. Its last good version is in use.`
      this.#log.error(`${this.#problem} ${messageOf(error)}`)
    }
  }
}
