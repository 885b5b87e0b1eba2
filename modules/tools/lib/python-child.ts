import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from 'agent-host'

const WORKER = fileURLToPath(new URL('./python-worker.py', import.meta.url))
/** Longest answer of a tool. */
const MAX_LINE_CHARS = 16 * 1024 * 1024
const MAX_LOGGED_CHARS = 2000
const MAX_LOGGED_LINES_PER_SECOND = 100
const TERM_AFTER_MS = 200
const KILL_AFTER_MS = 1000

/** A request that was sent to the child. */
export interface PythonCall {
  readonly id: number
  /** @throws Error what the function raised, or that the process was lost */
  readonly result: Promise<unknown>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** A Python process that loads files and calls their functions. Requests and answers are lines of JSON. */
export class PythonChild {
  readonly #process: ChildProcessWithoutNullStreams
  readonly #log: Log
  readonly #exited: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  #requests = 0
  #received = ''
  #logged = { second: 0, lines: 0 }
  #lost: Error | undefined
  #isRetired = false

  /** @param onExit called once, when the process is gone */
  constructor(interpreter: string, projectDir: string, env: Record<string, string>, log: Log, onExit: () => void) {
    this.#log = log
    // A process group of its own, so that whatever it starts goes with it.
    this.#process = spawn(interpreter, ['-u', WORKER, projectDir], {
      cwd: projectDir,
      env,
      detached: true,
      stdio: 'pipe',
    })
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => this.#receive(text))
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => this.#logOutput(text))
    // Writing to a process that is gone: its exit says more.
    this.#process.stdin.on('error', () => {})
    this.#exited = new Promise((resolve) => {
      const end = (reason: string): void => {
        this.#lose(reason)
        onExit()
        resolve()
      }
      this.#process.once('error', ({ message }) => end(`could not be started: ${message}`))
      this.#process.once('exit', (code, signal) => end(`stopped while the tool ran (${signal ?? `exit code ${code}`})`))
    })
  }

  ask(request: object): PythonCall {
    const id = ++this.#requests
    const result = new Promise<unknown>((resolve, reject) => {
      if (this.#lost) reject(this.#lost)
      else this.#waiting.set(id, { resolve, reject })
    })
    // Whoever does not wait any longer was told why.
    result.catch(() => {})
    if (!this.#lost) this.#process.stdin.write(`${JSON.stringify({ id, ...request })}\n`)
    return { id, result }
  }

  /**
   * Stops waiting for a call. A thread of Python cannot be ended from outside: if the call still runs, the process goes,
   * once the calls that others wait for have ended.
   *
   * @returns whether the call still ran, so that the process takes no more
   */
  abandon({ id }: PythonCall): boolean {
    if (!this.#waiting.delete(id)) return false
    this.#isRetired = true
    this.#closeWhenIdle()
    return true
  }

  async close(): Promise<void> {
    this.#process.stdin.end()
    const timers = [
      setTimeout(() => this.#signal('SIGTERM'), TERM_AFTER_MS),
      setTimeout(() => this.#signal('SIGKILL'), KILL_AFTER_MS),
    ]
    await this.#exited
    for (const timer of timers) clearTimeout(timer)
    // What it has started itself, and left behind.
    this.#signal('SIGKILL')
  }

  #closeWhenIdle(): void {
    if (this.#isRetired && this.#waiting.size === 0) void this.close()
  }

  #receive(text: string): void {
    const lines = (this.#received + text).split('\n')
    this.#received = lines.pop() ?? ''
    for (const line of lines) this.#settle(line)
    if (this.#received.length > MAX_LINE_CHARS) {
      this.#lose(`answered more than ${MAX_LINE_CHARS / 1024 / 1024} MiB`)
      this.#signal('SIGKILL')
    }
  }

  #settle(line: string): void {
    const { id, ok, error } = JSON.parse(line) as {
      id: number
      ok?: unknown
      error?: { message: string; trace?: string }
    }
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error?.trace) this.#log.debug(error.trace)
    if (error) waiting?.reject(new Error(error.message))
    else waiting?.resolve(ok)
    this.#closeWhenIdle()
  }

  #lose(reason: string): void {
    this.#lost ??= new Error(`Python ${reason}.`)
    for (const { reject } of this.#waiting.values()) reject(this.#lost)
    this.#waiting.clear()
  }

  /** What tools print. A flood is cut: it must not drown the log. */
  #logOutput(text: string): void {
    const second = Math.floor(Date.now() / 1000)
    if (this.#logged.second !== second) this.#logged = { second, lines: 0 }
    for (const line of text.split('\n')) {
      if (line.trim() === '') continue
      const count = ++this.#logged.lines
      if (count < MAX_LOGGED_LINES_PER_SECOND) this.#log.info(line.slice(0, MAX_LOGGED_CHARS))
      else if (count === MAX_LOGGED_LINES_PER_SECOND)
        this.#log.warn('prints too much: the rest of this second is left out')
    }
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch (error) {
      // The group is gone already; systems without groups have the process alone.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') this.#process.kill(signal)
    }
  }
}
