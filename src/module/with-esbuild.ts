import { installation } from './installation.ts'

type Esbuild = typeof import('esbuild')

/** Time after the last build for which esbuild's process stays: an editor saves again soon. */
const IDLE_MS = 2000

/** Of the one process that esbuild has for all who use it here. */
let users = 0
let stopping: NodeJS.Timeout | undefined

/**
 * Calls back with esbuild, whose process is stopped once it was unused for a while.
 *
 * @param code URL of esbuild's code
 * @throws Error naming the package with the executable of this platform, if it is missing
 */
export async function withEsbuild<T>(
  work: (esbuild: Esbuild) => Promise<T>,
  code: string = installation.esbuild,
): Promise<T> {
  clearTimeout(stopping)
  users++
  // Loaded here: most commands, and agents of library modules alone, never need it.
  const esbuild: Esbuild = await import(code)
  try {
    return await work(esbuild)
  } catch (cause) {
    if (!isMissingModule(cause)) throw cause
    const text = `@esbuild/${process.platform}-${process.arch}, which reads TypeScript, is not installed. Run npm ci on this machine, without --omit=optional.`
    throw new Error(text, { cause })
  } finally {
    if (--users === 0) stopping = setTimeout(() => esbuild.stop(), IDLE_MS).unref()
  }
}

/** esbuild looks for its executable with `require`. */
function isMissingModule(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND'
}
