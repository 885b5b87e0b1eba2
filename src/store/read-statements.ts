import { readFileSync } from 'node:fs'

/** Reads a file of SQL or Lua, with values in the place of its `{names}`; what it takes stands in its head. */
export function readStatements(file: URL, values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values).reduce(
    (text, [name, value]) => text.replaceAll(`{${name}}`, () => value),
    readFileSync(file, 'utf8'),
  )
}
