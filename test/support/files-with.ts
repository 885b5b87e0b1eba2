import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Paths of the files below a folder that contain a text. */
export function filesWith(dir: string, text: string): string[] {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  return paths.filter((path) => readFileSync(path).includes(text))
}
