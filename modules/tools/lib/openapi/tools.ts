import { setImmediate } from 'node:timers/promises'
import {
  type ArgumentCheck,
  fieldsOf,
  fitsGlob,
  type GuardedFetch,
  type ModuleContext,
  makeArgumentCheck,
  messageOf,
} from 'agent-host'
import { Backoff } from '../backoff.ts'
import { DocumentAway, OpenApiDocument } from './document.ts'
import { listOperations, type Operation, type OperationOutline, readOperation } from './operations.ts'
import type { Credentials } from './request.ts'
import { MAX_SCHEMAS } from './schema.ts'
import { Security } from './security.ts'
import { serverOf } from './server.ts'

const TAG = 'tag:'

export interface OperationsConfig {
  readonly document: string
  readonly base_url?: string
  readonly operations: readonly string[]
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
  readonly security: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
}

/** An operation that is ready to be called. */
interface OperationTool {
  readonly operation: Operation
  readonly server: string
  readonly check: ArgumentCheck
  readonly credentials: Credentials
}

type OperationTools = ReadonlyMap<string, OperationTool>

/** The chosen operations of a document. One at an address that is away is fetched again until it is there. */
export class LoadedOperations {
  readonly #config: OperationsConfig
  readonly #context: ModuleContext
  readonly #fetch: GuardedFetch
  readonly #closing = new AbortController()
  readonly #backoff = new Backoff(this.#closing.signal)
  /** Reason that was logged last: attempts that fail alike are not. */
  #reported = ''
  #tools: OperationTools = new Map()

  constructor(config: OperationsConfig, context: ModuleContext, fetch: GuardedFetch) {
    this.#config = config
    this.#context = context
    this.#fetch = fetch
  }

  /** By the names of their tools. None while the document is away. */
  get tools(): OperationTools {
    return this.#tools
  }

  /**
   * Loads the document, or goes on trying to.
   *
   * @throws HostError `MODULE_INVALID` for a document that is there, and cannot be used
   */
  async load(): Promise<void> {
    try {
      await this.#load()
    } catch (error) {
      if (!(error instanceof DocumentAway)) throw error
      this.#waitFor(error)
    }
  }

  async #load(): Promise<void> {
    this.#tools = await loadTools(this.#config, this.#context, this.#fetch)
  }

  close(): void {
    this.#closing.abort()
    this.#context.reportMissing(undefined)
  }

  #waitFor(error: unknown): void {
    const { log, reportMissing } = this.#context
    const reason = messageOf(error)
    this.#backoff.noteFailure()
    reportMissing('OpenAPI document')
    if (reason !== this.#reported) {
      log.warn(`${reason} Its tools are missing. ${this.#backoff.outlook}`)
    }
    this.#reported = reason
    this.#backoff.later(() => this.#tryAgain())
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#load()
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#waitFor(error)
      return
    }
    this.#context.reportMissing(undefined)
    this.#context.log.info(`${this.#config.document} can be fetched now.`)
  }
}

async function loadTools(
  { document: place, base_url: baseUrl, ...config }: OperationsConfig,
  context: ModuleContext,
  fetch: GuardedFetch,
): Promise<OperationTools> {
  const document = await OpenApiDocument.load(place, context, fetch)
  const security = new Security(document, config.security, config.headers)
  const chosen = chooseOperations(listOperations(document), config.operations, config.prefix, document)
  const tools = new Map<string, OperationTool>()
  const budget = { left: MAX_SCHEMAS }
  for (const [name, outline] of chosen) {
    const operation = readOperation(document, outline, budget)
    const server = baseUrl ?? serverOf(document, operation, config.variables)
    const check = makeCheck(name, operation)
    tools.set(name, { operation, server, check, credentials: security.credentialsOf(operation) })
    // Others get their turn.
    await setImmediate()
  }
  const read = [...tools].map(([name, { operation }]): [string, Operation] => [name, operation])
  warnOfSecrets(read, security, context.log.warn)
  warnOfHeaders(read, context.log.warn)
  return tools
}

/** To build a check takes tens of milliseconds for so many definitions, four times as long for twice as many. */
const MAX_BUILT = 100

/** The check of an operation. That of a large schema is built by the first call: most operations are never called. */
function makeCheck(name: string, { schema }: Operation): ArgumentCheck {
  if (Object.keys(fieldsOf(schema.$defs)).length <= MAX_BUILT) return makeArgumentCheck(name, schema)
  let check: ArgumentCheck | undefined
  return (args) => {
    check ??= buildCheck(name, schema)
    return check(args)
  }
}

/** Another try would take as long, and fail again. */
function buildCheck(name: string, schema: Operation['schema']): ArgumentCheck {
  try {
    return makeArgumentCheck(name, schema)
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** The chosen operations by the names of their tools. */
function chooseOperations(
  operations: readonly OperationOutline[],
  globs: readonly string[],
  prefix: string,
  document: OpenApiDocument,
): [string, OperationOutline][] {
  const isChosenBy = (glob: string, { name, tags }: OperationOutline) =>
    glob.startsWith(TAG) ? tags.some((tag) => fitsGlob(tag, glob.slice(TAG.length))) : fitsGlob(name, glob)
  const useless = globs.find((glob) => !operations.some((operation) => isChosenBy(glob, operation)))
  if (useless !== undefined) {
    const known = operations.map(({ name }) => name).join(', ') || 'none'
    throw new Error(`operations: '${useless}' fits no operation of ${document.name}. Operations: ${known}.`)
  }
  const chosen = operations.filter((operation) => globs.some((glob) => isChosenBy(glob, operation)))
  const named = new Map<string, OperationOutline>()
  for (const operation of chosen) {
    const name = (prefix + operation.name).slice(0, 64)
    const other = named.get(name)
    if (other) {
      const path = ['paths', operation.path, operation.method.toLowerCase()]
      const both = `${other.method} ${other.path} and ${operation.method} ${operation.path}`
      throw document.refuse(path, `${both} both become the tool '${name}'. Give one of them another operationId.`)
    }
    named.set(name, operation)
  }
  return [...named]
}

function warnOfSecrets(chosen: readonly [string, Operation][], security: Security, warn: (text: string) => void): void {
  const names = chosen.flatMap(([name, operation]) => (security.lacksSecrets(operation) ? [name] : []))
  if (names.length > 0) warn(`security: no secret is given for ${names.join(', ')}: the server may refuse these calls.`)
}

function warnOfHeaders(chosen: readonly [string, Operation][], warn: (text: string) => void): void {
  const found = chosen.flatMap(([name, { forbidden }]) => forbidden.map((header) => `'${header}' of ${name}`))
  if (found.length > 0) warn(`Headers that no model may set are left out: ${found.join(', ')}.`)
}
