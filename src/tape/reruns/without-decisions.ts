import { isDeepStrictEqual } from 'node:util'
import type { ToolCall } from '../../protocols/message.ts'
import type { Turn } from '../../run/turn.ts'
import { type PendingAnswer, toolCallOf } from '../../run/waiting/pending-call.ts'
import { openCallsOf } from '../../wire/paired-calls.ts'
import type { TapedCall } from '../file/read-tape.ts'
import type { PlayerOptions } from '../replaying/tape-player.ts'

/**
 * The turn without what was decided, on the tape, about calls that are executed for real: a decision is about one call. Such a call
 * begins anew, and asks again.
 */
export function withoutDecisions(
  turn: Turn,
  { run, live, from, offset }: Pick<PlayerOptions, 'run' | 'live' | 'from' | 'offset'>,
): Turn {
  const { pending = [], answers = [], messages } = turn
  const played = run.calls.filter(({ line }) => {
    return line.method === 'executeTool' && !(live.has(line.module) && line.call + offset >= from)
  })
  const real = new Set<string>()
  for (const call of openCallsOf(messages)) {
    const ofCall = pending.filter((each) => toolCallOf(each) === call.id)
    const given = answers.find(({ callId }) => ofCall.some((each) => each.callId === callId))
    if (given && isExecuted(given) && !take(played, call, given)) real.add(call.id)
  }
  if (real.size === 0) return turn
  const dropped = new Set(pending.flatMap((each) => (real.has(toolCallOf(each)) ? [each.callId] : [])))
  const isKept = ({ callId }: { readonly callId: string }) => !dropped.has(callId)
  return { ...turn, pending: pending.filter(isKept), answers: answers.filter(isKept) }
}

function isExecuted(answer: PendingAnswer): boolean {
  return answer.kind === 'question' || (answer.kind === 'approval' && answer.decision !== 'reject')
}

/** Takes the recorded execution of a call. */
function take(played: TapedCall[], { name, arguments: asked }: ToolCall, given: PendingAnswer): boolean {
  const edited = given.kind === 'approval' ? given.arguments : undefined
  const executed = [asked, edited].filter((args) => args !== undefined)
  const index = played.findIndex(({ line }) => executed.some((args) => isDeepStrictEqual(line.arguments, [name, args])))
  if (index === -1) return false
  played.splice(index, 1)
  return true
}
