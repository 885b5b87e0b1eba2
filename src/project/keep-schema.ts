import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { makeAgentFileSchema } from '../module/editor-schema.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { writeFiles } from './write-files.ts'

/** Path of the schema of agent files in a project: the first line of an agent file names it for editors. */
const SCHEMA_FILE = '.agent-host/agent.schema.json'

/**
 * Writes the schema of a project's agent files, if it is not there as it should be. The file is whole or absent.
 *
 * @param projectDir absolute
 * @param warn told where it cannot be written
 */
export async function keepSchema(projectDir: string, warn: (message: string) => void): Promise<void> {
  await writeSchema(projectDir).catch((error: unknown) => warn(`Cannot write ${SCHEMA_FILE}: ${messageOf(error)}`))
}

async function writeSchema(projectDir: string): Promise<void> {
  const path = join(projectDir, SCHEMA_FILE)
  const text = `${JSON.stringify(await makeAgentFileSchema(projectDir), null, 2)}\n`
  if ((await readRegularFile(path).catch(() => undefined))?.toString() === text) return
  await writeFiles(projectDir, [{ path: SCHEMA_FILE, content: text, replaces: true, isOwn: true }])
}
