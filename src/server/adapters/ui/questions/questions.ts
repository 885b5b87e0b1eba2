import type { QuestionNews } from '../../../../wire/question.ts'

/** Reads a file that a question may write (relative to the project, with `/`); undefined where there is none. @throws HostError for any other file */
export type ReadTarget = (path: string) => Promise<Buffer | undefined>

/** File as it is to be. */
export interface PlannedWrite {
  /** Relative to the project, with `/`. */
  readonly path: string
  readonly content: Uint8Array
  /** Description that a person sees in place of content that is no text. */
  readonly summary?: string
}

/** Effect of a yes. */
export interface QuestionPlan {
  readonly writes: readonly PlannedWrite[]
  /** Arguments of a command of this command line. */
  readonly command?: readonly string[]
}

/** Question for the person at the terminal. */
export interface Question {
  readonly title: string
  /** Called again where a file has changed since: the question is then asked again. */
  plan(read: ReadTarget): Promise<QuestionPlan>
}

/** The questions that `agent-host dev` asks on its terminal. A key typed there answers; nothing else does. */
export interface Questions {
  /**
   * Queues a question.
   *
   * @returns its id, under which its news come
   * @throws HostError `OVERLOADED` while five are open; `OPTION_INVALID` or `PROJECT_INVALID` for what cannot be written
   */
  ask(question: Question): Promise<string>
  /** Returns the states of the latest questions. */
  latest(): readonly QuestionNews[]
  /** @returns a function that ends it */
  watch(listener: (news: QuestionNews) => void): () => void
}
