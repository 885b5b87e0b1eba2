type Esbuild = typeof import('esbuild')

/** Time after the last build for which esbuild's process stays: an editor saves again soon. */
const IDLE_MS = 2000

/** Of the one process that esbuild has for all who use it here. */
let users = 0
let stopping: NodeJS.Timeout | undefined

/** Calls back with esbuild, whose process is stopped once it was unused for a while. */
export async function withEsbuild<T>(work: (esbuild: Esbuild) => Promise<T>): Promise<T> {
  clearTimeout(stopping)
  users++
  // Loaded here: most commands, and agents of library modules alone, never need it.
  const esbuild = await import('esbuild')
  try {
    return await work(esbuild)
  } finally {
    if (--users === 0) stopping = setTimeout(() => esbuild.stop(), IDLE_MS).unref()
  }
}
