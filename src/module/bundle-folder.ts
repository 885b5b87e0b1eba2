import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeProcess, hasEnded } from '../process-identity.ts'

const PREFIX = 'agent-host-code-'
/** Characters that `mkdtemp` adds. */
const SUFFIX = '-xxxxxx'

/** Creates a folder for a bundle, private to this process, and removes it when the work is done. */
export async function withBundleFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const owner = Buffer.from(describeProcess()).toString('base64url')
  const dir = await mkdtemp(join(tmpdir(), `${PREFIX}${owner}-`))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Removes the folders of killed processes. Never throws: leftovers do no harm. */
export async function sweepBundleFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  const left = names.filter((name) => name.startsWith(PREFIX) && hasEnded(ownerOf(name)))
  await Promise.all(left.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {})))
}

function ownerOf(name: string): string {
  return Buffer.from(name.slice(PREFIX.length, -SUFFIX.length), 'base64url').toString()
}
