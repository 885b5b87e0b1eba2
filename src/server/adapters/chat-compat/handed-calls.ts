import { hash } from 'node:crypto'
import { isUser } from '../../../protocols/message.ts'
import { RecentlyUsed } from '../../../recently-used.ts'
import type { RunResult, Turn } from '../../../run/turn.ts'
import { isClientCall } from './completion.ts'

const LIMITS = { maxItems: 10_000, maxBytes: 8 * 1024 * 1024 }
/** Part of each question: together they tell conversations apart in which a model repeats the id of a call. */
const QUESTION_LENGTH = 100
/** Length of a SHA-256 in base64url. */
const KEY_LENGTH = 43

type Asked = Pick<Turn, 'tenant' | 'user' | 'messages'>

/**
 * Runs of this process that handed calls to their clients, by these calls: the run that gets the outputs belongs to the same conversation
 * in traces.
 */
export class HandedCalls {
  readonly #runs = new RecentlyUsed<string>({ ...LIMITS, bytesOf: (runId) => runId.length + KEY_LENGTH })

  /** Keeps the run of the calls. */
  note(agent: string, turn: Asked, { runId, pending }: Pick<RunResult, 'runId' | 'pending'>): void {
    let asked: string | undefined
    for (const call of pending) {
      if (!isClientCall(call)) continue
      // Once for all calls of an answer, since a conversation may be as large as a body.
      asked ??= digestOf(agent, turn)
      this.#runs.set(keyOf(asked, call.callId), runId)
    }
  }

  /** Returns the run whose calls the conversation ends with the outputs of; undefined where it is not known. */
  find(agent: string, turn: Asked): string | undefined {
    const last = turn.messages.at(-1)
    return last?.role === 'tool' ? this.#runs.get(keyOf(digestOf(agent, turn), last.toolCallId)) : undefined
  }
}

/** Digest of what the requests before and after a call of the client have in common: what a user said is not kept. */
function digestOf(agent: string, { tenant, user, messages }: Asked): string {
  const questions = messages.filter(isUser).map(({ content }) => content.slice(0, QUESTION_LENGTH))
  return hash('sha256', JSON.stringify([tenant, user, agent, questions]), 'base64url')
}

function keyOf(asked: string, callId: string): string {
  return hash('sha256', `${asked} ${callId}`, 'base64url')
}
