import { badRequest } from '../errors.ts'
import { list, object, requireGiven, TEXT } from '../given.ts'
import type { Message } from '../protocols/message.ts'
import { CheckTime } from '../run/checks/check-time.ts'
import type { RunResult, Turn } from '../run/turn.ts'
import { bindAnswer, type PendingAnswer, type PendingCall } from '../run/waiting/pending-call.ts'
import { findAnsweredTwice, findAnswerProblem } from '../run/waiting/settle-answers.ts'

const CARRIED = [
  'instructions',
  'user',
  'tenant',
  'metadata',
  'traceparent',
  'input',
  'requestOptions',
  'maxToolCalls',
  'ttlSeconds',
  'clientTools',
  'background',
  'variant',
] as const

/** Part of a turn that a run takes along when it goes on. */
export type WaitingOptions = Pick<Turn, (typeof CARRIED)[number]>

/** Run that waits for a person or a program. */
export interface WaitingRun {
  readonly runId: string
  /** Name that the agent was called by: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly pending: readonly PendingCall[]
}

/** Waiting run with everything that it needs to continue, in this process or another. */
export interface ResumableRun extends WaitingRun {
  readonly trail: readonly Message[]
  readonly options: WaitingOptions
}

/** Returns a run that waits as a value. */
export function toResumableRun(agent: string, result: RunResult, turn: WaitingOptions): ResumableRun {
  const { runId, pending, trail } = result
  const options = Object.fromEntries(CARRIED.map((name) => [name, turn[name]]))
  return { runId, agent, pending, trail, options }
}

/** Returns the turn in which a run goes on: each decision is bound to the call that the person saw. */
export function toNextTurn({ trail, pending, options }: ResumableRun, answers: readonly PendingAnswer[]): Turn {
  return { ...options, messages: trail, pending, answers: answers.map((answer) => bind(answer, pending)) }
}

const ANSWERS = list(object({ callId: TEXT }))

/** @throws HostError `REQUEST_INVALID` for an answer that does not fit, for a second one to a call, and for none */
export function checkAnswers({ runId, pending }: WaitingRun, answers: readonly PendingAnswer[]): void {
  requireGiven(ANSWERS, answers, 'answers')
  const time = new CheckTime()
  for (const answer of answers) {
    const asked = pending.find(({ callId }) => callId === answer.callId)
    const problem = asked ? findAnswerProblem(asked, answer, time) : `no call '${answer.callId}' waits for an answer.`
    if (problem !== undefined) throw badRequest(`Run '${runId}': ${problem}`)
  }
  const twice = findAnsweredTwice(answers)
  if (twice !== undefined) throw badRequest(`Run '${runId}': ${twice}`)
  if (answers.length === 0) throw badRequest(`Run '${runId}': no answer was given.`)
}

/** Later questions of a call take the answers to its earlier ones along. */
function bind(answer: PendingAnswer, pending: readonly PendingCall[]): PendingAnswer {
  const asked = pending.find(({ callId }) => callId === answer.callId)
  return asked ? bindAnswer(answer, asked) : answer
}
