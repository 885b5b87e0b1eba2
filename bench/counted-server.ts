import { BuiltFiles } from './built-files.ts'
import { ChildServer, distOf } from './child-server.ts'
import { makeProject } from './temp-project.ts'
import type { Post, Walk } from './walks.ts'

const WARM_UP = 50
const COUNTED = 20
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
/** Space for all objects that are counted: none are collected meanwhile. */
const MEMORY = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']

/** What one walk costs a server: the mean of several. */
export interface Counts {
  /** Functions of the build that at least nine of ten walks ran: `durable/runs/run-store.js create`. */
  readonly functions: readonly string[]
  /** Files that these are in, with those of bundled packages. */
  readonly files: number
  readonly promises: number
  /** Allocated by code that is not optimized. */
  readonly bytes: number
  readonly commits: number
  /** Reads of records of turns. */
  readonly turnReads: number
  /** Reads of records of conversations. */
  readonly conversationReads: number
}

/** A function of a file of the build, with its place there. */
interface Called {
  readonly path: string
  readonly name: string
  readonly start: number
  readonly end: number
  readonly calls: number
}

interface Raw {
  readonly functions: readonly Called[]
  readonly promises: number
  readonly bytes: number
  readonly commits: number
  readonly read: readonly string[]
}

/** A server of which is counted what it runs. */
export class CountedServer {
  readonly #server: ChildServer
  readonly #files: BuiltFiles

  private constructor(server: ChildServer, files: BuiltFiles) {
    this.#server = server
    this.#files = files
  }

  /** @param checkout folder of another checkout, whose build is served instead of this one's */
  static async start(checkout?: string): Promise<CountedServer> {
    const nodeOptions = [...MEMORY, `--import=${new URL('servers/counting.js', import.meta.url).href}`]
    const server = await ChildServer.start('agent-host', [makeProject()], { nodeOptions, checkout })
    return new CountedServer(server, new BuiltFiles(distOf(checkout)))
  }

  async count({ prepare = async () => '', go, goesOn }: Walk): Promise<Counts> {
    const prepared: string[] = []
    for (let walk = 0; walk < WARM_UP + COUNTED; walk++) prepared.push(await prepare(this.#post))
    for (const [index, each] of prepared.entries()) {
      if (index === WARM_UP) await this.#server.ask('count')
      await go(this.#post, each)
      if (goesOn) await this.#server.ask('idle')
    }
    return this.#toCounts(await this.#server.ask<Raw>('count'))
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  readonly #post: Post = async (path, body) => {
    const reply = await fetch(this.#server.url + path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text}`)
    return text
  }

  #toCounts({ functions, promises, bytes, commits, read }: Raw): Counts {
    const often = functions.filter(({ calls }) => calls >= COUNTED * 0.9)
    const readsOf = (prefix: string) => read.filter((key) => key.startsWith(prefix)).length / COUNTED
    return {
      functions: number(often.map((each) => this.#nameOf(each))),
      files: new Set(often.map(({ path, start }) => this.#files.sourceOf(path, start))).size,
      promises: promises / COUNTED,
      bytes: bytes / COUNTED,
      commits: commits / COUNTED,
      turnReads: readsOf('turn:'),
      conversationReads: readsOf('conversation:'),
    }
  }

  #nameOf({ path, name, start, end }: Called): string {
    return `${this.#files.sourceOf(path, start)} ${name || this.#files.beginningOf(path, start, end)}`
  }
}

/** Tells those of the same name apart. */
function number(names: readonly string[]): string[] {
  const seen = new Map<string, number>()
  return names
    .map((name) => {
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return times === 1 ? name : `${name} #${times}`
    })
    .sort()
}
