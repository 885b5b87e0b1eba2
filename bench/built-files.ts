import { readFileSync } from 'node:fs'

/** Code of one build, of which many files were bundled into one. */
export class BuiltFiles {
  readonly #dist: URL
  readonly #files = new Map<string, { readonly code: string; readonly starts: readonly RegExpExecArray[] }>()

  /** @param dist folder, with a slash at its end */
  constructor(dist: URL) {
    this.#dist = dist
  }

  /** Path of the file that a place was compiled from: `run/turn.js`, or `node_modules/fastify/lib/reply.js`. */
  sourceOf(path: string, offset: number): string {
    const start = this.#read(path).starts.findLast(({ index }) => index <= offset)
    return start?.[1] ?? path
  }

  /** Paths of the files that a file of the build was joined from. */
  sourcesOf(path: string): string[] {
    return this.#read(path).starts.flatMap(([, source]) => source ?? [])
  }

  /** First characters of a piece of code. */
  beginningOf(path: string, start: number, end: number): string {
    const { code } = this.#read(path)
    return code.slice(start, Math.min(end, start + 40)).replace(/\s+/g, ' ')
  }

  #read(path: string) {
    const known = this.#files.get(path)
    if (known) return known
    const code = readFileSync(new URL(path, this.#dist), 'utf8')
    // The bundler writes this line above the code of each file.
    const file = { code, starts: [...code.matchAll(/^\/\/ (?:build\/)?(\S+\.[cm]?js)$/gm)] }
    this.#files.set(path, file)
    return file
  }
}
