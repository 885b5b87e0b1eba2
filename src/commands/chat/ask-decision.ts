import { isObject, parseJson } from '../../json.ts'
import type { ApprovalDecision } from '../../wire/approval.ts'
import { cleanToDecide } from '../../wire/clean-text.ts'
import { nameAsker } from '../../wire/name-asker.ts'
import { formatCall } from '../terminal/format-call.ts'
import type { WaitingCall } from './backend.ts'

/** Shows a prompt and reads a line; undefined when the user leaves. */
export type AskLine = (prompt: string) => Promise<string | undefined>

/** Has the user decide about calls and answer their questions, in their order; undefined when the user leaves. */
export async function askDecisions(
  calls: readonly WaitingCall[],
  ask: AskLine,
): Promise<ApprovalDecision[] | undefined> {
  const decisions: ApprovalDecision[] = []
  for (const call of calls) {
    const decision = await askDecision(call, ask)
    if (!decision) return undefined
    decisions.push(decision)
  }
  return decisions
}

async function askDecision(call: WaitingCall, ask: AskLine): Promise<ApprovalDecision | undefined> {
  return call.kind === 'question' ? askAnswer(call, ask) : askApproval(call, ask)
}

async function askApproval(
  { name, arguments: args, message, asker }: WaitingCall,
  ask: AskLine,
): Promise<ApprovalDecision | undefined> {
  const reason = message ? ` (${message})` : ''
  const question = `May ${asker ? nameAsker(asker) : 'it'} call ${formatCall(name, args)}?${reason} [a]pprove, [r]eject, [e]dit: `
  for (;;) {
    const choice = await ask(question)
    if (choice === undefined) return undefined
    // The whole word: what begins with the same letter, such as "abort" or "ask Bob first", decides nothing.
    const word = choice.trim().toLowerCase()
    if (word === 'a' || word === 'approve') return { decision: 'approve' }
    if (word === 'r' || word === 'reject') return askReason(ask)
    if (word === 'e' || word === 'edit') return askArguments(args, ask)
  }
}

async function askReason(ask: AskLine): Promise<ApprovalDecision | undefined> {
  const reason = await ask('Reason, shown to the model (may be empty): ')
  return reason === undefined ? undefined : { decision: 'reject', ...(reason.trim() ? { reason: reason.trim() } : {}) }
}

async function askArguments(args: object, ask: AskLine): Promise<ApprovalDecision | undefined> {
  for (;;) {
    const text = await ask(`Arguments as JSON, such as ${cleanToDecide(JSON.stringify(args))}: `)
    if (text === undefined) return undefined
    const edited = parseJson(text)
    if (isObject(edited)) return { decision: 'edit', arguments: edited }
  }
}

/** Reads the answer to a question: as typed where the schema takes text, otherwise as JSON. */
async function askAnswer({ message, schema }: WaitingCall, ask: AskLine): Promise<ApprovalDecision | undefined> {
  const text = await ask(`${message} `)
  if (text === undefined) return undefined
  const takesText = schema?.type === 'string' || (Array.isArray(schema?.enum) && schema.enum.includes(text.trim()))
  const answer = takesText ? text.trim() : (parseJson(text) ?? text.trim())
  return { decision: 'answer', answer }
}
