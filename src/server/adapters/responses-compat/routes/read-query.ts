import { HostError } from '../../../../errors.ts'

/** The query of a request: texts, or lists of them for repeated parameters. */
export type Query = Readonly<Record<string, unknown>>

/** Query of a listing. */
export interface PageQuery {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Exclusive. */
  readonly after: string | undefined
  /** Exclusive. */
  readonly before: string | undefined
}

/** @throws HostError `REQUEST_INVALID` naming the parameter and its valid values */
export function readPageQuery(query: Query): PageQuery {
  return {
    limit: readInteger(query, 'limit', { min: 1, max: 100 }) ?? 20,
    order: readOneOf(query, 'order', ['asc', 'desc']) ?? 'desc',
    after: readText(query, 'after'),
    before: readText(query, 'before'),
  }
}

export function readBoolean(query: Query, name: string): boolean {
  return readOneOf(query, name, ['true', 'false']) === 'true'
}

export function readInteger(
  query: Query,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = readText(query, name)
  if (text === undefined) return undefined
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new HostError('REQUEST_INVALID', `${name} must be a whole number from ${min} to ${max}`)
}

export function readOneOf<T extends string>(query: Query, name: string, values: readonly T[]): T | undefined {
  const text = readText(query, name)
  if (text === undefined) return undefined
  const value = values.find((candidate) => candidate === text)
  if (value !== undefined) return value
  throw new HostError('REQUEST_INVALID', `${name} must be one of ${values.join(', ')}`)
}

function readText(query: Query, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw new HostError('REQUEST_INVALID', `${name} must be given once`)
}
