import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readRegularFile } from 'agent-host'

const run = promisify(execFile)

/**
 * The interpreter for the tools of a project: the configured one, otherwise that of the project's `.venv`, the
 * version in `.python-version`, `python3` or `python`.
 *
 * @throws Error that lists the interpreters it tried
 */
export async function findPython(projectDir: string, asked: string | undefined): Promise<string> {
  const candidates = asked === undefined ? await usualPlaces(projectDir) : [asked]
  for (const candidate of candidates) if (await works(candidate)) return candidate
  throw new Error(
    `Tools in Python need an interpreter, and none of these works: ${candidates.join(', ')}. Install Python 3.8 or newer.`,
  )
}

async function usualPlaces(projectDir: string): Promise<string[]> {
  const ownVersions = [join(projectDir, '.venv/bin/python'), join(projectDir, '.venv/Scripts/python.exe')].filter(
    existsSync,
  )
  const [, version] =
    /^\s*(\d+(?:\.\d+)?)/.exec(String(await readRegularFile(join(projectDir, '.python-version')).catch(() => ''))) ?? []
  return [...ownVersions, ...(version === undefined ? [] : [`python${version}`]), 'python3', 'python']
}

async function works(candidate: string): Promise<boolean> {
  try {
    await run(candidate, ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))'], { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}
