import { useState } from 'preact/hooks'
import { type Column, requestedChanges } from '../responses/column.ts'
import { askAgent, cancelResponse, readInput } from '../responses/responses-client.ts'
import type { Seed } from '../responses/setup.ts'
import { go } from '../router.ts'
import type { RunningAnswer } from './answer.ts'
import { playAddress } from './play-address.ts'
import { addContinuation, saveThread, type Thread, type Turn, type TurnAnswer } from './threads.ts'
import { toInput, type Upload } from './uploads.ts'

/** Input of a response, as the thread stores it. */
interface Question {
  readonly text: string
  readonly files: readonly string[]
  readonly input: string | readonly object[]
}

/** Asks the columns of a thread, each with its own history, and follows how far their answers are. */
export function useConversation(columns: readonly Column[], thread: Thread | undefined, seed: Seed | undefined) {
  const [status, setStatus] = useState<Readonly<Record<string, RunningAnswer['status']>>>({})
  const [error, setError] = useState('')
  const turns = thread?.turns ?? []
  const running = (turns.at(-1)?.answers ?? [])
    .flatMap(({ responseIds }) => responseIds.slice(-1))
    .filter((id) => (status[id] ?? 'running') === 'running')
  const report = (failure: Error) => setError(failure.message)

  const ask = async (question: Question, before: readonly Turn[]): Promise<boolean> => {
    setError('')
    const answers = await Promise.all(columns.map((column, index) => answerOf(column, index, question, before)))
    const refused = answers.every((answer) => answer.error !== '')
    if (refused) setError(answers[0]?.error ?? '')
    else keepTurn({ question: question.text, files: question.files, answers, columns }, before)
    return !refused
  }
  const keepTurn = (turn: Turn, before: readonly Turn[]) => {
    const id = thread?.id ?? turn.answers.flatMap(({ responseIds }) => responseIds)[0] ?? ''
    saveThread({ id, columns, updatedAt: Date.now() / 1000, turns: [...before, turn], ...(seed ? { seed } : {}) })
    // Without a new step back: the empty playground was none.
    if (!thread) go(playAddress(columns, id), { replace: true })
  }

  return {
    turns,
    error,
    isRunning: running.length > 0,
    /** @returns false when the question was refused */
    send: (text: string, uploads: readonly Upload[], count = turns.length) =>
      ask(
        { text, files: uploads.map(({ name }) => name), input: afterSeed(toInput(text, uploads), count, seed) },
        turns.slice(0, count),
      ),
    retry: async (index: number) => {
      const turn = turns[index]
      if (!turn) return
      try {
        await ask(
          { text: turn.question, files: turn.files, input: await inputOf(turn, index, seed) },
          turns.slice(0, index),
        )
      } catch (failure) {
        report(failure as Error)
      }
    },
    stop: () => void Promise.all(running.map(cancelResponse)).catch(report),
    onStatus: (id: string, next: RunningAnswer['status']) => setStatus((before) => ({ ...before, [id]: next })),
    onContinue: (id: string, next: string) => thread && addContinuation(thread.id, id, next),
  }
}

async function answerOf(
  column: Column,
  index: number,
  { input }: Question,
  before: readonly Turn[],
): Promise<TurnAnswer> {
  const previousId = before.findLast(({ answers }) => answers[index]?.error === '')?.answers[index]?.responseIds.at(-1)
  try {
    return { responseIds: [await askAgent({ column, input, previousId })], error: '' }
  } catch (failure) {
    return { responseIds: [], error: (failure as Error).message }
  }
}

/** The question of a turn once more; its files are read from the server, which keeps them. */
function inputOf({ question, files, answers }: Turn, index: number, seed?: Seed): Promise<Question['input']> {
  const id = answers.find(({ error }) => error === '')?.responseIds[0]
  return files.length === 0 || id === undefined ? Promise.resolve(afterSeed(question, index, seed)) : readInput(id)
}

/** Puts the conversation that a thread continues before its first question. */
function afterSeed(input: Question['input'], index: number, seed: Seed | undefined): Question['input'] {
  if (!seed || index > 0 || seed.items.length === 0) return input
  return [...seed.items, ...(typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input)]
}

/**
 * Asks the last question of a thread once more with other values, and shows the new answer beside the one that it had. Where the
 * thread had these values already, the agent answers as it is.
 */
export async function compareLast(thread: Thread, column: Column, index: number): Promise<void> {
  const { turns, seed } = thread
  const last = turns.at(-1)
  const answer = last?.answers[index]
  if (!last || !answer) return
  const { changes: _changes, version: _version, ...plain } = column
  const asked: Column = last.columns?.[index] ?? plain
  const isAsked = JSON.stringify(requestedChanges(asked)) === JSON.stringify(requestedChanges(column))
  const original = isAsked ? plain : asked
  const columns = [original, column]
  const both = (turn: Turn): Turn => {
    const answers = turn.answers.slice(index, index + 1)
    return { ...turn, answers: [...answers, ...answers], columns: [original, original] }
  }
  const before = turns.slice(0, -1).map(both)
  const { question, files } = last
  const input = await inputOf(last, before.length, seed)
  const missing = isAsked ? 0 : 1
  const next = await answerOf(isAsked ? original : column, missing, { text: question, files, input }, before)
  const id = next.responseIds[0] ?? crypto.randomUUID()
  const turn: Turn = { question, files, answers: isAsked ? [next, answer] : [answer, next], columns }
  saveThread({ id, columns, updatedAt: Date.now() / 1000, turns: [...before, turn], ...(seed ? { seed } : {}) })
  go(playAddress(columns, id))
}
