import { HostError } from '../../errors.ts'
import { type Fields, isObject } from '../../json.ts'
import { STORE_FORMAT } from '../../store/store-format.ts'

/** Version of the rows that this version writes, and reads: a store of earlier ones is refused when it is opened. */
export const ROW_VERSION = STORE_FORMAT

/** Fields without which a row is damaged. */
export type RowShape<Row> = { readonly [Name in keyof Row]?: 'string' | 'number' | 'object' | 'array' }

/**
 * Parses a row of this version. Beyond its shape it is not checked: rows are written here alone.
 *
 * @typeParam Row shape of the rows under this key
 * @param id of the run that the row belongs to
 * @throws HostError `RECORD_UNREADABLE` for a row of a newer version, or one that is damaged
 */
export function parseRow<Row>(id: string, text: string, shape: RowShape<Row>): Row & { readonly version: number } {
  const row = parseObject(id, text)
  const { version } = row
  if (typeof version !== 'number' || (version <= ROW_VERSION && !fits(row, shape))) throw damagedRow(id)
  if (version <= ROW_VERSION) return row as Row & { readonly version: number }
  throw new HostError(
    'RECORD_UNREADABLE',
    `The stored response '${id}' was written by a newer version of agent-host.`,
    {
      suggestions: ['Start the version that wrote it, or a later one.'],
    },
  )
}

function parseObject(id: string, text: string): Fields {
  try {
    const row: unknown = JSON.parse(text)
    if (isObject(row)) return row
  } catch {
    // As one that is no object.
  }
  throw damagedRow(id)
}

function fits(row: Record<string, unknown>, shape: Readonly<Partial<Record<string, string>>>): boolean {
  return Object.entries(shape).every(([name, type]) => typeOf(row[name]) === type)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Error of a row that no version can read, unlike one of a newer version. */
export class DamagedRow extends HostError {
  constructor(message: string) {
    super('RECORD_UNREADABLE', message)
  }
}

export function damagedRow(id: string): DamagedRow {
  return new DamagedRow(`The stored response '${id}' is damaged.`)
}

export function undefinedIfDamaged(error: unknown): undefined {
  if (!(error instanceof DamagedRow)) throw error
}
