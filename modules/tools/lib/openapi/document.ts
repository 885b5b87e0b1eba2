import { realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  decodeText,
  fieldsOf,
  type GuardedFetch,
  HostError,
  isDeeper,
  isObject,
  type ModuleContext,
  messageOf,
  readRegularFile,
  readYamlText,
} from 'agent-host'

export type Json = Readonly<Record<string, unknown>>

/** A value of a document, with the file that its own references start from. */
export interface Resolved {
  readonly value: unknown
  readonly file: string
}

interface Source {
  readonly data: unknown
  lineOf(path: readonly (string | number)[]): number
}

const MAX_JSON_BYTES = 8 * 1024 * 1024
/** Its parser takes many times as long as that of JSON. */
const MAX_YAML_BYTES = 2 * 1024 * 1024
const MAX_FILES = 200
/** Whatever walks a document calls itself for each level. */
const MAX_LEVELS = 500
/** References to references. */
const MAX_HOPS = 50

/** An OpenAPI document and the files of the project that it refers to. */
export class OpenApiDocument {
  readonly name: string
  readonly #sources: ReadonlyMap<string, Source>

  private constructor(name: string, sources: ReadonlyMap<string, Source>) {
    this.name = name
    this.#sources = sources
  }

  /**
   * Reads and checks a document.
   *
   * @param place path in the project, or an address
   * @throws HostError `MODULE_INVALID` naming file, line and reason
   */
  static async load(place: string, context: ModuleContext, fetch: GuardedFetch): Promise<OpenApiDocument> {
    const isRemote = /^https?:/i.test(place)
    const name = isRemote ? place : posix.normalize(place.replaceAll(sep, '/'))
    const sources = new Map<string, Source>()
    const text = isRemote ? await download(place, fetch, context) : await readProjectFile(name, context)
    sources.set(name, readSource(text, name))
    for (const [file, { data, lineOf }] of sources) {
      for (const { reference, path } of referencesIn(data)) {
        const [target = ''] = reference.split('#')
        if (target === '') continue
        const fault = (what: string, cause?: unknown) =>
          invalid(`${file}:${lineOf(path)}`, `the reference '${reference}' ${what}`, cause)
        if (isRemote || /^[a-z][a-z0-9+.-]*:/i.test(target)) {
          throw fault(`leaves the ${isRemote ? 'document' : 'project'}.`)
        }
        const other = fileOf(reference, file)
        if (other === undefined) throw fault('has a broken escape.')
        if (sources.has(other)) continue
        if (sources.size === MAX_FILES) throw invalid(name, `the document refers to more than ${MAX_FILES} files.`)
        const read = readProjectFile(other, context).catch((cause) => {
          throw fault(`cannot be followed: ${messageOf(cause)}`, cause)
        })
        sources.set(other, readSource(await read, other))
      }
    }
    const document = new OpenApiDocument(name, sources)
    await document.#check(context.projectDir)
    return document
  }

  get root(): Json {
    return fieldsOf(this.#sources.get(this.name)?.data)
  }

  /** @throws HostError `MODULE_INVALID` pointing at a place in the document */
  refuse(path: readonly (string | number)[], message: string): HostError {
    return invalid(`${this.name}:${this.#sources.get(this.name)?.lineOf(path) ?? 1}`, message)
  }

  /** Follows references until there is a value. */
  resolve(value: unknown, file: string): Resolved {
    let found: Resolved = { value, file }
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const reference = referenceOf(found.value)
      if (reference === undefined) return found
      found = this.follow(reference, found.file)
    }
    throw invalid(file, 'a reference leads to itself.')
  }

  /** Returns what a reference points at. */
  follow(reference: string, from: string): Resolved {
    const [, pointer = ''] = reference.split('#')
    const file = fileOf(reference, from) ?? ''
    let value = this.#sources.get(file)?.data
    for (const token of pointer.split('/').slice(1)) {
      const key = decodePointer(token)
      value = isObject(value) || Array.isArray(value) ? (value as Json)[key] : undefined
      if (value === undefined) throw invalid(from, `the reference '${reference}' points at nothing.`)
    }
    return { value, file }
  }

  async #check(projectDir: string): Promise<void> {
    const { root } = this
    const { openapi, swagger } = root
    if (swagger !== undefined) {
      throw this.refuse(['swagger'], `this is Swagger ${swagger}; OpenAPI 3.0 or 3.1 is needed. Convert it first.`)
    }
    if (typeof openapi !== 'string' || !/^3\.[01]\./.test(openapi)) {
      throw this.refuse(['openapi'], `openapi must be 3.0.x or 3.1.x, and is ${JSON.stringify(openapi)}.`)
    }
    this.#checkReferences()
    const { validate } = await loadParser(projectDir)
    const result = await validate(structuredClone(root), { resolve: { external: false } })
    if (result.valid) return
    const [{ message } = { message: 'it is not valid' }] = result.errors
    const [reason = ''] = message.split('\n')
    const [, line] = /^> *(\d+) \|/m.exec(message) ?? []
    const path = line === undefined ? [] : pathAtLine(root, Number(line))
    const problem = reason.replace(/^[A-Z]+ /, '').replace(/\.$/, '')
    throw this.refuse(path, `${problem}${path.length > 0 ? ` at ${path.join('.')}` : ''}.`)
  }

  /** The parser reports these problems without their place. */
  #checkReferences(): void {
    for (const { reference, path } of referencesIn(this.root)) {
      try {
        this.resolve({ $ref: reference }, this.name)
      } catch {
        throw this.refuse(path, `the reference '${reference}' leads to nothing, or back to itself.`)
      }
    }
  }
}

/** Part of `@readme/openapi-parser`. Its own types are there only where it is installed. */
interface OpenApiParser {
  validate(
    document: object,
    options: { readonly resolve: { readonly external: boolean } },
  ): Promise<
    { readonly valid: true } | { readonly valid: false; readonly errors: readonly { readonly message: string }[] }
  >
}

/** Not everybody needs the parser: it is installed where an agent names this module. Modules for models load packages likewise; ejected modules take no part of another kind along. */
async function loadParser(projectDir: string): Promise<OpenApiParser> {
  const name = '@readme/openapi-parser'
  for (const base of [join(projectDir, 'package.json'), import.meta.url]) {
    let entry: string
    try {
      entry = createRequire(base).resolve(name)
    } catch {
      continue
    }
    return import(pathToFileURL(entry).href)
  }
  throw new Error(
    `tools/openapi needs the package ${name}, which is not installed. In the project: npm install ${name}`,
  )
}

function readSource(text: string, name: string): Source {
  if (!/^\s*[{[]/.test(text)) return readYamlText(text, name, { maxBytes: MAX_YAML_BYTES, kind: 'a document in YAML' })
  // For the line of an error alone.
  const lineOf = (path: readonly (string | number)[]) =>
    readYamlText(text, name, { maxBytes: MAX_JSON_BYTES }).lineOf(path)
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    throw invalid(name, messageOf(cause), cause)
  }
  if (!isDeeper(data, MAX_LEVELS)) return { data, lineOf }
  throw invalid(`${name}:${lineOfLevel(text, MAX_LEVELS)}`, `the document is nested deeper than ${MAX_LEVELS} levels.`)
}

/** Line of a JSON text that leads deeper than this. */
function lineOfLevel(text: string, levels: number): number {
  let [depth, line] = [0, 1]
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}\n]/g)) {
    if (token === '\n') line++
    else if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > levels) break
  }
  return line
}

/** Error of a document that cannot be fetched at this moment, and perhaps later. */
export class DocumentAway extends HostError {}

/** Statuses of servers that are not ready yet, beside those from 500 on. */
const NOT_READY = [404, 408, 425, 429]
/** Maximum time that the server of a document has, in milliseconds. */
const FETCH_MS = 10_000

async function download(url: string, fetch: GuardedFetch, { log }: ModuleContext): Promise<string> {
  const say = (reason: string) => `${url}: the document cannot be fetched: ${reason}`
  const failed = (reason: string) => new HostError('MODULE_INVALID', say(reason))
  const away = (reason: string) => new DocumentAway('MODULE_INVALID', say(reason))
  const refuse = (error: unknown): never => {
    const reason = reasonOf(error)
    throw (reason.startsWith('the server answered ') ? failed : away)(`${reason}.`)
  }
  const accept = 'application/json, application/yaml'
  const init = { headers: { accept }, signal: AbortSignal.timeout(FETCH_MS) }
  const response = await fetch(url, init).catch(refuse)
  const { status, headers } = response
  if (status >= 300 && status < 400) throw failed(`it redirects to ${headers.get('location')}. Name that address.`)
  if (!response.ok) {
    throw (status >= 500 || NOT_READY.includes(status) ? away : failed)(`the server answered ${status}.`)
  }
  const bytes = await response.arrayBuffer().catch(refuse)
  return decodeText(new Uint8Array(bytes), url, log.warn)
}

function reasonOf(error: unknown): string {
  const { name } = fieldsOf(error)
  return name === 'TimeoutError' ? `the server did not answer within ${FETCH_MS / 1000} s` : messageOf(error)
}

async function readProjectFile(name: string, { projectDir, watchFile, log }: ModuleContext): Promise<string> {
  const path = resolve(projectDir, name)
  if (name.startsWith('../')) throw invalid(name, 'the file is outside the project folder.')
  // Refuses what is outside once links are followed.
  watchFile(path)
  const within = await realpath(projectDir)
  const bytes = await readRegularFile(path, { maxBytes: MAX_JSON_BYTES, within }).catch((cause) => {
    throw invalid(name, cause.code === 'ENOENT' ? 'there is no such file.' : `${messageOf(cause)}.`)
  })
  return decodeText(bytes, name, log.warn)
}

interface Reference {
  readonly reference: string
  /** Path of the object that it stands for. */
  readonly path: readonly string[]
}

function* referencesIn(value: unknown, path: readonly string[] = []): Generator<Reference> {
  if (typeof value !== 'object' || value === null) return
  const reference = referenceOf(value)
  if (reference !== undefined) yield { reference, path: [...path, '$ref'] }
  for (const [key, child] of Object.entries(value)) yield* referencesIn(child, [...path, key])
}

function referenceOf(value: unknown): string | undefined {
  const { $ref } = fieldsOf(value)
  return typeof $ref === 'string' ? $ref : undefined
}

/** Undefined for one with a broken escape. */
function fileOf(reference: string, from: string): string | undefined {
  const [target = ''] = reference.split('#')
  if (target === '') return from
  const path = decoded(() => decodeURI(target))
  return path === undefined ? undefined : posix.normalize(posix.join(dirname(from), path))
}

/** Undefined for a text with a broken escape. */
function decoded(decode: () => string): string | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}

/** Path of the value that begins in a line of the indented JSON of a document: the checker counts its lines. */
function pathAtLine(root: unknown, line: number): (string | number)[] {
  const path: (string | number)[] = []
  const indices: number[] = []
  for (const text of JSON.stringify(root, null, 2).split('\n').slice(1, line)) {
    const depth = (/^ */.exec(text)?.[0].length ?? 0) / 2
    if (/^ *[}\]]/.test(text)) continue
    const [, key] = /^ *("(?:[^"\\]|\\.)*"): /.exec(text) ?? []
    path.length = Math.min(path.length, depth - 1)
    indices.length = Math.min(indices.length, depth + 1)
    indices[depth] = (indices[depth] ?? -1) + 1
    path[depth - 1] = key === undefined ? (indices[depth] ?? 0) : JSON.parse(key)
  }
  return path
}

function decodePointer(token: string): string {
  return (decoded(() => decodeURIComponent(token)) ?? token).replaceAll('~1', '/').replaceAll('~0', '~')
}

function invalid(place: string, message: string, cause?: unknown): HostError {
  return new HostError('MODULE_INVALID', `${place}: ${message}`, { cause })
}
