import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Copies the project of the bench, so that it has a store of its own; the copy is removed when the process exits. */
export function makeProject(): string {
  const dir = makeFolder()
  cpSync(fileURLToPath(new URL('project', import.meta.url)), dir, { recursive: true })
  return dir
}

/** Creates an empty folder, which is removed when the process exits. */
export function makeFolder(): string {
  if (folders.length === 0) process.once('exit', removeFolders)
  const dir = mkdtempSync(join(tmpdir(), 'agent-host-bench-'))
  folders.push(dir)
  return dir
}

const folders: string[] = []

function removeFolders(): void {
  for (const dir of folders) rmSync(dir, { recursive: true, force: true })
}
