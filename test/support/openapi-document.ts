import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json } from './responses.ts'

export interface Answered {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** An OpenAPI document that answers are held to. Fields that it does not name are problems too. */
export class OpenapiDocument {
  readonly document: Json
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true })

  constructor(document: Json) {
    this.document = document
    this.#ajv.addSchema({ ...close(document), $id: 'openapi' })
  }

  /** Every operation, as `GET /path`. */
  get operations(): string[] {
    return Object.entries<Json>(this.document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
  }

  /** Problems of an answer; of a stream, those of each event. */
  findProblems(method: string, path: string, { statusCode, headers, body }: Answered): string[] {
    const template = this.#findPath(path.split('?', 1)[0] ?? '')
    const answers = this.document.paths[template]?.[method.toLowerCase()]?.responses ?? {}
    const status = [String(statusCode), `${String(statusCode)[0]}XX`].find((known) => known in answers)
    if (status === undefined) return [`${method} ${path} answers ${statusCode}: ${body}`]
    if (answers[status].content === undefined) return body === '' ? [] : [`${method} ${path} ${status} has a body`]
    const mediaType = String(headers['content-type']).split(';', 1)[0] ?? ''
    if (!(mediaType in answers[status].content)) return [`${method} ${path} ${status} is ${mediaType}`]
    const place = ['paths', template, method.toLowerCase(), 'responses', status, 'content', mediaType, 'schema']
    if (mediaType === 'text/event-stream') place.push('properties', 'data', 'anyOf', '1', 'contentSchema')
    const validate = this.#ajv.compile({ $ref: `openapi#/${place.map(escape).join('/')}` })
    return readValues(mediaType, body).flatMap((value) =>
      validate(value)
        ? []
        : [`${method} ${path} ${status}: ${JSON.stringify(value)}\n${this.#ajv.errorsText(validate.errors)}`],
    )
  }

  #findPath(path: string): string {
    const fits = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
    return Object.keys(this.document.paths).find(fits) ?? path
  }
}

function readValues(mediaType: string, body: string): unknown[] {
  if (mediaType !== 'text/event-stream') return [mediaType.endsWith('json') ? JSON.parse(body) : body]
  const data = [...body.matchAll(/^data: (.*)$/gm)].map(([, text]) => text as string)
  return data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text))
}

function escape(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** The document with every object that lists its fields closed, but for items that keep what the client sent. */
function close(document: Json): Json {
  const { InputItem, ...schemas } = document.components.schemas
  const closed = closeObjects({ ...document, components: { schemas } })
  return { ...closed, components: { schemas: { ...closed.components.schemas, InputItem } } }
}

function closeObjects(value: Json): Json {
  if (Array.isArray(value)) return value.map(closeObjects)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeObjects(inner)]))
  return copy.type === 'object' && copy.properties ? { additionalProperties: false, ...copy } : copy
}
