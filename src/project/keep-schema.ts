import { join } from 'node:path'
import { makeAgentFileSchema } from '../module/editor-schema.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { SCHEMA_FILE } from './schema-file.ts'
import { writeFiles } from './write-files.ts'

/**
 * Writes the schema of a project's agent files, if it is not there as it should be. The file is whole or absent.
 *
 * @param projectDir absolute
 */
export async function keepSchema(projectDir: string): Promise<void> {
  const path = join(projectDir, SCHEMA_FILE)
  const text = `${JSON.stringify(await makeAgentFileSchema(projectDir), null, 2)}\n`
  if ((await readRegularFile(path).catch(() => undefined))?.toString() === text) return
  await writeFiles(projectDir, [{ path: SCHEMA_FILE, content: text, replaces: true, isOwn: true }])
}
