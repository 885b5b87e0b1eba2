import { HostError } from '../errors.ts'

/** Version of the rows that this version writes. Rows of the first one carry none. */
export const ROW_VERSION = 2
/** Version of a row that refers to bytes in rows of their own: earlier versions of agent-host must not take it for a whole one. */
export const BYTES_VERSION = 3

/**
 * Parses a row of any version up to this one. The version is checked, the fields are not: nobody else writes rows.
 *
 * @typeParam Row shape of the rows under this key
 * @param id of the run that the row belongs to
 * @throws HostError `RECORD_UNREADABLE` for a row of a newer version, or one that is damaged
 */
export function parseRow<Row>(id: string, text: string): Row & { readonly version: number } {
  const row = parseObject(id, text)
  const { version = 1 } = row
  if (typeof version === 'number' && version <= BYTES_VERSION) return { ...(row as Row), version }
  throw new HostError(
    'RECORD_UNREADABLE',
    `The stored response '${id}' was written by a newer version of agent-host.`,
    {
      suggestions: ['Start the version that wrote it, or a later one.'],
    },
  )
}

function parseObject(id: string, text: string): Record<string, unknown> {
  try {
    const row: unknown = JSON.parse(text)
    if (typeof row === 'object' && row !== null) return row as Record<string, unknown>
  } catch {
    // As one that is no object.
  }
  throw new HostError('RECORD_UNREADABLE', `The stored response '${id}' is damaged.`)
}
