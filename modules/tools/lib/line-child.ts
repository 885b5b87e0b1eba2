import { ChildProcess, type SpawnOptions, spawnSync } from 'node:child_process'
import type { Log } from 'agent-host'
import spawn from 'cross-spawn'

const MAX_LOGGED_CHARS = 2000
const MAX_LOGGED_LINES_PER_SECOND = 100
const TERM_AFTER_MS = 200
const KILL_AFTER_MS = 1000

export interface LineChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly log: Log
  /** A child that writes a longer line is ended. */
  readonly maxLineChars: number
  /** A line of its output. */
  readonly onLine: (line: string) => void
  /** Called once, when it is gone or could not be started: `stopped (exit code 1)`. */
  readonly onExit: (reason: string) => void
}

const RUNNING = Symbol.for('agent-host.running-children')

/** Every child that runs: none outlives this process, however it ends. One set, however often this file is loaded. */
function runningChildren(): Set<{ kill(): void }> {
  const globals = globalThis as { [RUNNING]?: Set<{ kill(): void }> }
  const known = globals[RUNNING]
  if (known) return known
  const running = new Set<{ kill(): void }>()
  globals[RUNNING] = running
  process.once('exit', () => {
    for (const child of running) child.kill()
  })
  return running
}

/** A child process that exchanges lines, with its own children. Its standard error goes to the log. */
export class LineChild {
  /** Has no streams where it could not be started: its error follows. */
  readonly #process: ChildProcess
  readonly #options: LineChildOptions
  readonly #exited: Promise<void>
  #received = ''
  #logged = { second: 0, lines: 0 }
  /** Why it was ended from here. */
  #reason: string | undefined

  constructor(options: LineChildOptions) {
    const { command, args, cwd, env, onExit } = options
    this.#options = options
    // A process group of its own, so that its children stop with it.
    const detached = process.platform !== 'win32'
    this.#process = start(command, args, { cwd, env, detached, stdio: 'pipe' })
    runningChildren().add(this)
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => this.#receive(text))
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => this.#logOutput(text))
    // Writing to a process that is gone: its exit says more.
    this.#process.stdin?.on('error', () => {})
    this.#exited = new Promise((resolve) => {
      const end = (reason: string): void => {
        runningChildren().delete(this)
        onExit(this.#reason ?? reason)
        resolve()
      }
      this.#process.once('error', ({ message }) => end(`could not be started: ${message}`))
      this.#process.once('exit', (code, signal) => {
        // What it has started itself, and left behind.
        this.kill()
        end(`stopped (${signal ?? `exit code ${code}`})`)
      })
    })
  }

  /** @returns a promise when the child reads more slowly than this: it is fulfilled when there is room again */
  write(line: string): void | Promise<void> {
    const { stdin } = this.#process
    if (!stdin || stdin.write(`${line}\n`) || !stdin.writable) return
    return new Promise((resolve) => {
      stdin.once('drain', resolve)
      void this.#exited.then(resolve)
    })
  }

  /** Lets it end by itself, then asks it to, then ends it. */
  async close(): Promise<void> {
    this.#process.stdin?.end()
    const timers = [
      setTimeout(() => this.#signal('SIGTERM'), TERM_AFTER_MS),
      setTimeout(() => this.kill(), KILL_AFTER_MS),
    ]
    await this.#exited
    for (const timer of timers) clearTimeout(timer)
  }

  kill(): void {
    this.#signal('SIGKILL')
  }

  #receive(text: string): void {
    // Only what is new is searched: a line may come in thousands of pieces.
    const [first = '', ...lines] = text.split('\n')
    this.#received += first
    for (const line of lines) {
      this.#options.onLine(this.#received)
      this.#received = line
    }
    const { maxLineChars } = this.#options
    if (this.#received.length <= maxLineChars) return
    this.#received = ''
    this.#reason = `answered more than ${maxLineChars / 1024 / 1024} MiB`
    this.kill()
  }

  /** A flood is cut: it must not drown the log. */
  #logOutput(text: string): void {
    const { log } = this.#options
    const second = Math.floor(performance.now() / 1000)
    if (this.#logged.second !== second) this.#logged = { second, lines: 0 }
    for (const line of text.split('\n')) {
      if (line.trim() === '') continue
      const count = ++this.#logged.lines
      if (count < MAX_LOGGED_LINES_PER_SECOND) log.info(line.slice(0, MAX_LOGGED_CHARS))
      else if (count === MAX_LOGGED_LINES_PER_SECOND) log.warn('prints too much: the rest of this second is left out')
    }
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process
    if (pid !== undefined && !endProcessTree(pid, signal)) this.#process.kill(signal)
  }
}

/** Starts a program. Node throws some failures, such as arguments that are too long, and emits others: here all are emitted. */
function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(command, args, options)
  } catch (error) {
    const failed = new ChildProcess()
    process.nextTick(() => failed.emit('error', error))
    return failed
  }
}

/**
 * Ends a process with everything that it has started.
 *
 * @param pid of a process that leads a group of its own; on Windows, which has none, of any process
 * @returns false when the system could not find it
 */
function endProcessTree(pid: number, signal: NodeJS.Signals): boolean {
  // Programs without a window take no polite request there.
  if (process.platform === 'win32') return spawnSync('taskkill', ['/pid', String(pid), '/t', '/f']).status === 0
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
