import { fieldsOf, HostError, isForbiddenHeader, isObject } from 'agent-host'
import type { Json, OpenApiDocument } from './document.ts'
import { type SchemaBudget, SchemaCollector } from './schema.ts'
import { type ParameterStyle, readStyle } from './style.ts'

/** Parameter of an operation. */
export interface Parameter extends ParameterStyle {
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  /** Name of its argument. */
  readonly argument: string
  /** Media type of a parameter that is a document of its own. */
  readonly mediaType: string | undefined
}

export interface RequestBody {
  readonly mediaType: string
  /** Rules for writing the fields of a form, by their names. */
  readonly encoding: Readonly<Record<string, Json>>
  /** Fields of a multipart body that are files. */
  readonly files: ReadonlySet<string>
}

/** Names of the security schemes that one way of calling needs, all of them. */
export type SecurityRequirement = readonly string[]

/** An operation of a document as a tool. */
export interface Operation {
  readonly name: string
  readonly description: string
  /** In capitals. */
  readonly method: string
  /** With parameters in braces. */
  readonly path: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  /** Names of documented headers that no model may set. */
  readonly forbidden: readonly string[]
  readonly body: RequestBody | undefined
  /** JSON Schema of the arguments. */
  readonly schema: Json
  readonly servers: readonly Json[]
  readonly security: readonly SecurityRequirement[]
}

/** An operation before its arguments are read. */
export interface OperationOutline
  extends Pick<Operation, 'name' | 'description' | 'method' | 'path' | 'tags' | 'servers' | 'security'> {
  readonly place: Place
}

/** All of OpenAPI but TRACE, which `fetch` refuses to send (Fetch Standard, "forbidden method"). */
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const DEFAULT_STYLES = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' } as const
/** Set by the client, whatever a document says (OpenAPI 3.1, section 4.8.12.1). */
const IGNORED_HEADERS = ['accept', 'content-type', 'authorization']
const MAX_NAME = 64

/** Lists the operations of a document, in its order. Their arguments are read by {@link readOperation}: there may be many that nobody chooses. */
export function listOperations(document: OpenApiDocument): OperationOutline[] {
  const { root, name: file } = document
  return Object.entries(fieldsOf(root.paths)).flatMap(([path, rawItem]) => {
    const item = document.resolve(rawItem, file)
    if (!isObject(item.value)) return []
    const shared = item.value
    return METHODS.flatMap((method) => {
      const operation = shared[method]
      return isObject(operation) ? [toOutline(document, path, method, { file: item.file, shared, operation })] : []
    })
  })
}

interface Place {
  readonly file: string
  /** Object that the operation stands in. */
  readonly shared: Json
  readonly operation: Json
}

function toOutline(document: OpenApiDocument, path: string, method: string, place: Place): OperationOutline {
  const { root } = document
  const { shared, operation } = place
  const { operationId, summary, description, tags, security = root.security, servers } = operation
  const text = [summary, description].filter((each) => typeof each === 'string' && each !== '').join('\n\n')
  return {
    name: nameOf(operationId, method, path),
    description: text || `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    tags: Array.isArray(tags) ? tags.map(String) : [],
    servers: [servers, shared.servers, root.servers].find((list): list is Json[] => Array.isArray(list)) ?? [],
    security: Array.isArray(security) ? security.map((requirement) => Object.keys(requirement ?? {})) : [],
    place,
  }
}

/**
 * Reads the arguments of an operation.
 *
 * @param budget of all operations that are read
 * @throws HostError `MODULE_INVALID` for a parameter that no request has; Error once the budget is spent
 */
export function readOperation(
  document: OpenApiDocument,
  { place: { file, shared, operation }, ...outline }: OperationOutline,
  budget: SchemaBudget,
): Operation {
  const collector = new SchemaCollector(document, budget)
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  const documented = mergeParameters(document, file, shared.parameters, operation.parameters)
  const isForbidden = ({ value: { in: place, name } }: (typeof documented)[number]) =>
    place === 'header' && isForbiddenHeader(String(name))
  const parameters = documented
    .filter((each) => !isForbidden(each))
    .map(({ value, file: from }) => {
      const parameter = readParameter(value, from, properties)
      const [media] = Object.values(fieldsOf(value.content))
      const found = collector.convert(value.schema ?? fieldsOf(media).schema ?? {}, from)
      properties[parameter.argument] = describe(found, value.description)
      if (value.required === true) required.push(parameter.argument)
      return parameter
    })
  const body = readBody(document, file, operation.requestBody, collector)
  if (body) {
    properties.body = body.schema
    if (body.isRequired) required.push('body')
  }
  const { definitions } = collector
  return {
    ...outline,
    parameters,
    forbidden: documented.filter(isForbidden).map(({ value }) => String(value.name)),
    body: body?.body,
    schema: {
      type: 'object',
      properties,
      required,
      ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
    },
  }
}

/** Those of the operation replace those of its path (OpenAPI 3.1, section 4.8.10). */
function mergeParameters(document: OpenApiDocument, file: string, ...lists: readonly unknown[]) {
  const merged = new Map<string, { readonly value: Json; readonly file: string }>()
  for (const raw of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const { value, file: from } = document.resolve(raw, file)
    if (!isObject(value)) continue
    const isIgnored = value.in === 'header' && IGNORED_HEADERS.includes(String(value.name).toLowerCase())
    if (!isIgnored) merged.set(`${value.in} ${value.name}`, { value, file: from })
  }
  return [...merged.values()]
}

/** @throws HostError `MODULE_INVALID`: files that a document refers to are checked by no one else */
function readParameter(value: Json, file: string, taken: Json): Parameter {
  const { in: place } = value
  const name = String(value.name)
  if (!isPlace(place)) {
    const message = `${file}: the parameter '${name}' is in '${place}'; it must be in path, query, header or cookie.`
    throw new HostError('MODULE_INVALID', message)
  }
  const plain = name.replace(/[^A-Za-z0-9_.-]/g, '_')
  const isFree = !(plain in taken) && plain !== 'body'
  const style = readStyle(value, DEFAULT_STYLES[place])
  const [mediaType] = Object.keys(fieldsOf(value.content))
  return {
    in: place,
    name,
    argument: isFree ? plain : `${place}_${plain}`,
    ...style,
    // Elsewhere it would let a value begin another cookie (OpenAPI 3.1, section 4.8.12.2: it applies to queries alone).
    allowReserved: place === 'query' && style.allowReserved,
    mediaType,
  }
}

function isPlace(value: unknown): value is Parameter['in'] {
  return typeof value === 'string' && Object.hasOwn(DEFAULT_STYLES, value)
}

function readBody(document: OpenApiDocument, from: string, raw: unknown, collector: SchemaCollector) {
  const { value, file } = document.resolve(raw, from)
  if (!isObject(value) || !isObject(value.content)) return undefined
  const mediaTypes = Object.keys(value.content)
  const mediaType = PREFERRED.flatMap((pattern) => mediaTypes.find((each) => pattern.test(each)) ?? [])[0]
  if (mediaType === undefined) return undefined
  const { schema = {}, encoding } = fieldsOf(value.content[mediaType])
  const found = document.resolve(schema, file)
  const { properties } = fieldsOf(found.value)
  const files = Object.entries(fieldsOf(properties)).filter(([, property]) => {
    const { value: field } = document.resolve(property, found.file)
    return isBinary(field) || isBinary(document.resolve(fieldsOf(field).items, found.file).value)
  })
  const body: RequestBody = {
    mediaType,
    encoding: fieldsOf(encoding) as RequestBody['encoding'],
    files: new Set(files.map(([name]) => name)),
  }
  const described = describe(collector.convert(schema, file), value.description ?? `The body, as ${mediaType}.`)
  return { body, schema: described, isRequired: value.required === true }
}

const PREFERRED = [
  /^application\/json\b/i,
  /[/+]json\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\//i,
  /./,
]

/** A file: 3.0 says so by its format, 3.1 by a media type without a type or an encoding. */
function isBinary(schema: unknown): boolean {
  const { format, contentMediaType } = fieldsOf(schema)
  return format === 'binary' || contentMediaType !== undefined
}

function describe(schema: Json | boolean, description: unknown): Json | boolean {
  if (typeof schema === 'boolean' || typeof description !== 'string') return schema
  return { description, ...schema }
}

function nameOf(operationId: unknown, method: string, path: string): string {
  const name = typeof operationId === 'string' && operationId !== '' ? operationId : `${method}${path}`
  return (
    name
      .replace(/[^A-Za-z0-9_-]+/g, '_')
      .replace(/^_+|(?<!_)_+$/g, '')
      .slice(0, MAX_NAME) || method
  )
}
