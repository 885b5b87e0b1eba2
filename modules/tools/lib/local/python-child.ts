import { fileURLToPath } from 'node:url'
import { fieldsOf, type Log, parseJson, type Question } from 'agent-host'
import { LineChild } from '../line-child.ts'

const WORKER = fileURLToPath(new URL('./python-worker.py', import.meta.url))
/** Longest answer of a tool. */
const MAX_LINE_CHARS = 16 * 1024 * 1024

/** A request that was sent to the child. */
export interface PythonCall {
  readonly id: number
  /** @throws Error of the function, or of the lost process */
  readonly result: Promise<unknown>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: unknown): void
  readonly onQuestion: OnQuestion
}

/** Answers a question of a call; an error ends the call. */
export type OnQuestion = (question: Question) => Promise<unknown>

/** A line of the child. */
interface Reply {
  readonly id: number
  readonly ok?: unknown
  readonly error?: { readonly message: string; readonly trace?: string }
  readonly question?: Question
}

const REFUSE: OnQuestion = () => Promise.reject(new Error('Only calls of tools can ask.'))

/** A Python process that loads files and calls their functions. Requests and answers are lines of JSON. */
export class PythonChild {
  readonly #child: LineChild
  readonly #log: Log
  readonly #waiting = new Map<number, Waiting>()
  #requests = 0
  #lost: Error | undefined
  #isRetired = false

  /** @param onExit called once, when the process is gone */
  constructor(interpreter: string, projectDir: string, env: Record<string, string>, log: Log, onExit: () => void) {
    this.#log = log
    this.#child = new LineChild({
      command: interpreter,
      args: ['-u', WORKER, projectDir],
      cwd: projectDir,
      env,
      log,
      maxLineChars: MAX_LINE_CHARS,
      onLine: (line) => this.#settle(line),
      onExit: (reason) => {
        this.#onExit(reason)
        onExit()
      },
    })
  }

  ask(request: object, onQuestion = REFUSE): PythonCall {
    const id = ++this.#requests
    const result = new Promise<unknown>((resolve, reject) => {
      if (this.#lost) reject(this.#lost)
      else this.#waiting.set(id, { resolve, reject, onQuestion })
    })
    // A caller that no longer waits already has its reason.
    result.catch(() => {})
    if (!this.#lost) void this.#child.write(JSON.stringify({ id, ...request }))
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

  close(): Promise<void> {
    return this.#child.close()
  }

  #closeWhenIdle(): void {
    if (this.#isRetired && this.#waiting.size === 0) void this.close()
  }

  #settle(line: string): void {
    const reply = readReply(line)
    if (!reply) return void this.#log.warn('Python wrote a line that is no answer; it was left out.')
    const { id, ok, error, question } = reply
    const waiting = this.#waiting.get(id)
    if (question) return void this.#answer(id, question, waiting)
    this.#waiting.delete(id)
    if (error?.trace) this.#log.debug(error.trace)
    if (error) waiting?.reject(new Error(error.message))
    else waiting?.resolve(ok)
    this.#closeWhenIdle()
  }

  /** A call that gets no answer ends at its question. */
  async #answer(id: number, question: Question, waiting: Waiting | undefined): Promise<void> {
    try {
      if (!waiting) throw new Error('No call waits for it.')
      const value = (await waiting.onQuestion(question)) ?? null
      await this.#child.write(JSON.stringify({ id, op: 'answer', value }))
    } catch (error) {
      this.#waiting.delete(id)
      waiting?.reject(error)
      await this.#child.write(JSON.stringify({ id, op: 'answer' }))
      this.#closeWhenIdle()
    }
  }

  #onExit(reason: string): void {
    this.#lost ??= new Error(`Python ${reason.replace(/^stopped/, 'stopped while the tool ran')}.`)
    for (const { reject } of this.#waiting.values()) reject(this.#lost)
    this.#waiting.clear()
  }
}

/** Returns undefined for a foreign line: a tool may write to any descriptor. */
function readReply(line: string): Reply | undefined {
  const reply = fieldsOf(parseJson(line)) as Partial<Reply>
  return typeof reply.id === 'number' ? (reply as Reply) : undefined
}
