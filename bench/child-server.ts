import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath, pathToFileURL } from 'node:url'

export interface Used {
  readonly cpuMicros: number
  /** Of that, the time in the kernel. */
  readonly kernelMicros: number
  readonly rssBytes: number
  /** Largest ever. */
  readonly maxRssBytes: number
  /** Delay of the event loop since the last time that this was asked. */
  readonly loopP99Ms: number
}

/** A server in a process of its own, which reports its resource usage. */
export class ChildServer {
  readonly name: string
  readonly url: string
  readonly readyMs: number
  readonly #process: ChildProcess

  private constructor(name: string, url: string, readyMs: number, process: ChildProcess) {
    this.name = name
    this.url = url
    this.readyMs = readyMs
    this.#process = process
  }

  /**
   * @param name of a file in bench/servers
   * @param checkout folder of another checkout, whose build is served instead of this one's
   * @param core the only one that it runs on
   */
  static async start(
    name: string,
    args: readonly string[] = [],
    { nodeOptions = [], checkout, core }: { nodeOptions?: string[]; checkout?: string; core?: string } = {},
  ): Promise<ChildServer> {
    const startedMs = performance.now()
    const file = fileURLToPath(new URL(`servers/${name}.js`, import.meta.url))
    // Coverage of this process is not that of the server.
    const env = { ...process.env, NODE_V8_COVERAGE: '', BENCH_DIST: new URL('index.js', distOf(checkout)).href }
    const bound =
      core === undefined ? {} : { execPath: 'taskset', execArgv: ['-c', core, process.execPath, ...nodeOptions] }
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const
    const child = fork(file, args, { env, execArgv: nodeOptions, stdio: [...stdio], ...bound })
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended before it was ready.`)))
    const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }]
    return new ChildServer(name, url, performance.now() - startedMs, child)
  }

  used(): Promise<Used> {
    return this.ask('used')
  }

  /** @param question which a part of the server answers */
  async ask<Answer>(question: string): Promise<Answer> {
    this.#process.send(question)
    const [answer] = (await once(this.#process, 'message')) as [Answer]
    return answer
  }

  async stop(): Promise<void> {
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await gone
  }
}

/** Returns the folder of a build: of this checkout, unless another is named. */
export function distOf(checkout?: string): URL {
  return new URL('dist/', checkout === undefined ? new URL('..', import.meta.url) : pathToFileURL(`${checkout}/`))
}
