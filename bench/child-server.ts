import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Used {
  readonly cpuMicros: number
  readonly rssBytes: number
}

/** A server in a process of its own, which tells what it has used. */
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

  /** @param name of a file in bench/servers */
  static async start(name: string, args: readonly string[] = [], nodeOptions: string[] = []): Promise<ChildServer> {
    const startedMs = performance.now()
    const file = fileURLToPath(new URL(`servers/${name}.js`, import.meta.url))
    const child = fork(file, args, { execArgv: nodeOptions, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    return new ChildServer(name, url, performance.now() - startedMs, child)
  }

  async used(): Promise<Used> {
    this.#process.send('used')
    const [used] = (await once(this.#process, 'message')) as [Used]
    return used
  }

  async stop(): Promise<void> {
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await gone
  }
}
