import { randomUUID } from 'node:crypto'
import { HostError, messageOf } from '../../errors.ts'
import type { PlannedWrite, Question, QuestionPlan, Questions } from '../../server/adapters/ui/questions/questions.ts'
import type { QuestionNews } from '../../wire/question.ts'
import { describeWrite, showAll } from './describe-question.ts'
import type { HeldOutput } from './held-output.ts'
import { type CheckedWrite, readTarget, writeChecked } from './question-files.ts'

const MAX_OPEN = 5
const ENDS_AFTER_MS = 60_000
/** A key that was on its way when the question appeared is no answer to it. */
const QUIET_MS = 1000
/** A key that others follow at once was pasted, or is held. */
const ALONE_MS = 150
const MAX_REMEMBERED = 20

/** Effects of the questions on the world. */
export interface QuestionTerminal {
  /** Absolute. */
  readonly projectDir: string
  /** The terminal, where nothing else appears while a question stands. */
  readonly output: Pick<HeldOutput, 'print' | 'hold' | 'release'>
  /** Runs a command of this command line on the terminal, without its keys. @returns its exit code */
  run(command: readonly string[]): Promise<number>
}

interface OpenQuestion {
  readonly id: string
  readonly question: Question
  writes: readonly CheckedWrite[]
  command: QuestionPlan['command']
  timer: NodeJS.Timeout | undefined
}

/** The questions of the page, one after the other on the terminal of `dev`. */
export class TerminalQuestions implements Questions {
  readonly #terminal: QuestionTerminal
  /** The first one is shown. */
  readonly #open: OpenQuestion[] = []
  readonly #news = new Map<string, QuestionNews>()
  readonly #listeners = new Set<(news: QuestionNews) => void>()
  #quietSinceMs = 0
  /** A `y` that nothing has followed so far. */
  #yes: NodeJS.Timeout | undefined
  #isWriting = false

  constructor(terminal: QuestionTerminal) {
    this.#terminal = terminal
  }

  async ask(question: Question): Promise<string> {
    const open: OpenQuestion = { id: randomUUID(), question, writes: [], command: undefined, timer: undefined }
    this.#requireRoom()
    await this.#plan(open)
    this.#requireRoom()
    this.#open.push(open)
    this.#tell(open, 'open', question.title)
    this.#startTimer(open)
    if (this.#open.length === 1) this.#show()
    return open.id
  }

  latest(): readonly QuestionNews[] {
    return [...this.#news.values()]
  }

  watch(listener: (news: QuestionNews) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes what was typed or pasted at once as the answer to the question that is shown. @returns false where none is */
  answer(typed: string): boolean {
    const [open] = this.#open
    if (!open) return false
    if (this.#isWriting) return true
    const hasFollowed = this.#yes !== undefined
    this.#forgetYes()
    const nowMs = performance.now()
    if (typed !== 'y' || hasFollowed) this.#end(open, 'refused', 'Refused in the terminal. Nothing was written.')
    else if (nowMs - this.#quietSinceMs < QUIET_MS) this.#quietSinceMs = nowMs
    else this.#yes = setTimeout(() => void this.#accept(open), ALONE_MS)
    return true
  }

  /** Shows the question again, below what was printed since. A `y` on its way is none. */
  showAgain(): void {
    if (this.#isWriting) return
    this.#forgetYes()
    this.#show()
  }

  #forgetYes(): void {
    clearTimeout(this.#yes)
    this.#yes = undefined
  }

  #requireRoom(): void {
    if (this.#open.length < MAX_OPEN) return
    const message = `${MAX_OPEN} questions wait in the terminal of agent-host dev: answer them there first`
    throw new HostError('OVERLOADED', message)
  }

  async #plan(open: OpenQuestion): Promise<void> {
    const { projectDir } = this.#terminal
    const { writes, command } = await open.question.plan((path) => readTarget(projectDir, path))
    const check = async (write: PlannedWrite) => ({ ...write, before: await readTarget(projectDir, write.path) })
    open.writes = await Promise.all(writes.map(check))
    open.command = command
  }

  async #accept(open: OpenQuestion): Promise<void> {
    this.#yes = undefined
    this.#isWriting = true
    clearTimeout(open.timer)
    try {
      if (open.command) this.#run(open, open.command)
      else if (await writeChecked(this.#terminal.projectDir, open.writes)) this.#endWritten(open)
      else await this.#askAgain(open)
    } catch (error) {
      this.#end(open, 'failed', messageOf(error))
    } finally {
      this.#isWriting = false
    }
  }

  #endWritten(open: OpenQuestion): void {
    this.#end(open, 'written', `Wrote ${open.writes.map(({ path }) => path).join(', ')}.`)
  }

  async #askAgain(open: OpenQuestion): Promise<void> {
    await this.#plan(open)
    this.#tell(open, 'changed', 'The file has changed: the terminal asks again.')
    this.#startTimer(open)
    this.#show()
  }

  #run(open: OpenQuestion, command: readonly string[]): void {
    this.#end(open, 'started', `Started agent-host ${command.join(' ')} in the terminal.`)
    this.#terminal.run(command).then(
      (code) => this.#tell(open, 'ended', `agent-host ${command.join(' ')} exited with ${code}.`),
      (error: unknown) => this.#tell(open, 'failed', messageOf(error)),
    )
  }

  #startTimer(open: OpenQuestion): void {
    const end = () => this.#end(open, 'expired', 'No answer in the terminal within 60 s. Nothing was written.')
    open.timer = setTimeout(end, ENDS_AFTER_MS).unref()
  }

  /** Ends a question, and shows the next one. */
  #end(open: OpenQuestion, state: QuestionNews['state'], detail: string): void {
    clearTimeout(open.timer)
    const place = this.#open.indexOf(open)
    this.#open.splice(place, 1)
    this.#tell(open, state, detail)
    if (place > 0) return
    this.#forgetYes()
    this.#terminal.output.print([showAll(detail)])
    this.#terminal.output.release()
    this.#show()
  }

  #show(): void {
    const [open] = this.#open
    if (!open) return
    const { question, writes, command } = open
    const what = command ? [`  agent-host ${showAll(command.join(' '))}`] : writes.flatMap(describeWrite)
    const verb = command ? 'runs' : 'writes'
    const key = `y ${verb} it (a second from now, alone); every other key is a no. It ends in 60 s.`
    this.#terminal.output.hold()
    this.#terminal.output.print(['', `The debug page asks: ${showAll(question.title)}`, ...what, key])
    this.#quietSinceMs = performance.now()
  }

  #tell({ id }: OpenQuestion, state: QuestionNews['state'], detail: string): void {
    const news = { id, state, detail }
    this.#news.delete(id)
    this.#news.set(id, news)
    const [oldest] = this.#news.keys()
    if (oldest !== undefined && this.#news.size > MAX_REMEMBERED) this.#news.delete(oldest)
    for (const listener of this.#listeners) listener(news)
  }
}
