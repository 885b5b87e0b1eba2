import { fieldsOf, isObject } from 'agent-host'
import { checkHeaderValues } from '../check-header-values.ts'
import type { Operation, Parameter, RequestBody } from './operations.ts'
import { readStyle, serialize, toHeader, toPairs, toPathPart } from './style.ts'

/** A request that is ready to be sent. */
export interface OperationRequest {
  readonly url: string
  readonly init: RequestInit
}

/** Secrets, sent beside the arguments. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly cookies: Readonly<Record<string, string>>
}

/**
 * Builds the request of a call from its checked arguments.
 *
 * @throws Error for arguments that would lead to another path, or that no header can have
 */
export function buildRequest(
  { method, path, parameters, body }: Operation,
  args: Readonly<Record<string, unknown>>,
  baseUrl: string,
  credentials: Credentials,
): OperationRequest {
  const given = parameters.filter(({ argument }) => args[argument] !== undefined)
  const of = (place: Parameter['in']) => given.filter((parameter) => parameter.in === place)
  const filled = of('path').reduce((text, parameter) => {
    const part = toPathPart(valueOf(parameter, args), parameter)
    if (part === '') throw new Error(`Wrong arguments for the path ${path}: '${parameter.argument}' is empty.`)
    return text.replaceAll(`{${parameter.name}}`, () => part)
  }, path)
  // An address with such a segment, encoded or not, is another one.
  if (/(^|\/)\.{1,2}(\/|$)/.test(filled))
    throw new Error(`Wrong arguments for the path ${path}: a part of it would be '..'.`)
  const pairsOf = (place: Parameter['in'], secrets: Readonly<Record<string, string>>) => [
    ...of(place).flatMap((each) => toPairs(valueOf(each, args), each)),
    ...Object.entries(secrets).flatMap(([name, value]) => toPairs(value, { name, style: 'form', explode: true })),
  ]
  const query = pairsOf('query', credentials.query)
  const cookies = pairsOf('cookie', credentials.cookies)
  const headers = new Headers({ accept: 'application/json, */*;q=0.8' })
  const own = Object.fromEntries(of('header').map((each) => [each.name, toHeader(valueOf(each, args), each)]))
  checkHeaderValues(own, `Wrong arguments for the path ${path}`)
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '))
  for (const [name, value] of Object.entries({ ...own, ...credentials.headers })) headers.set(name, value)
  const init: RequestInit = { method, headers }
  if (body && args.body !== undefined) addBody(init, headers, body, args.body)
  return { url: `${baseUrl.replace(/\/$/, '')}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, init }
}

function valueOf({ argument, mediaType }: Parameter, args: Readonly<Record<string, unknown>>): unknown {
  const value = args[argument]
  return mediaType !== undefined && /[/+]json\b/i.test(mediaType) ? JSON.stringify(value) : value
}

function addBody(
  init: RequestInit,
  headers: Headers,
  { mediaType, encoding, files }: RequestBody,
  value: unknown,
): void {
  if (/^multipart\/form-data\b/i.test(mediaType)) {
    // With a boundary of its own.
    init.body = toFormData(value, encoding, files)
    return
  }
  headers.set('content-type', mediaType)
  if (/[/+]json\b/i.test(mediaType)) init.body = JSON.stringify(value)
  else if (/^application\/x-www-form-urlencoded\b/i.test(mediaType)) init.body = toForm(value, encoding)
  else init.body = serialize(value)
}

function toForm(value: unknown, encoding: RequestBody['encoding']): string {
  const fields = Object.entries(fieldsOf(value))
  return fields
    .flatMap(([name, field]) => {
      const rules = encoding[name] ?? {}
      // Without a style an object is a document of its own.
      const written = isObject(field) && rules.style === undefined ? JSON.stringify(field) : field
      return toPairs(written, { name, ...readStyle(rules, 'form') })
    })
    .join('&')
}

function toFormData(value: unknown, encoding: RequestBody['encoding'], files: RequestBody['files']): FormData {
  const form = new FormData()
  for (const [name, field] of Object.entries(fieldsOf(value))) {
    for (const item of Array.isArray(field) ? field : [field]) {
      const { contentType } = encoding[name] ?? {}
      const type = typeof contentType === 'string' && !contentType.includes('*') ? contentType.split(',')[0] : undefined
      if (files.has(name))
        form.append(name, new Blob([serialize(item)], { type: type ?? 'application/octet-stream' }), name)
      else if (isObject(item)) form.append(name, new Blob([serialize(item)], { type: type ?? 'application/json' }))
      else form.append(name, serialize(item))
    }
  }
  return form
}
