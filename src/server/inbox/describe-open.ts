import type { OpenCall } from '../../durable/adapter-runs/adapter-runs.ts'
import type { PendingCall } from '../../run/waiting/pending-call.ts'
import { cleanText, cleanToDecide } from '../../wire/clean-text.ts'
import { nameAsker } from '../../wire/name-asker.ts'

/**
 * Returns the text that announces what waits for a person, and where to decide it.
 *
 * @param baseUrl of the inbox; undefined where its routes are not served
 */
export function describeOpen(open: readonly OpenCall[], baseUrl: string | undefined): string {
  return open.map((approval) => describeApproval(approval, baseUrl)).join('')
}

function describeApproval({ id, call }: OpenCall, baseUrl: string | undefined): string {
  const place = baseUrl === undefined ? '' : `at ${baseUrl}/approvals/${id} or `
  return `${describeCall(call)} Decide ${place}with: agent-host approvals\n`
}

function describeCall({ kind, name, arguments: args, message = '', asker }: PendingCall): string {
  const of = asker ? ` of ${nameAsker(asker)}` : ''
  if (kind === 'question') return `\n\n${name}${of} waits for an answer: ${cleanText(message)}`
  return `\n\nWaiting for approval of ${name}${of} ${cleanToDecide(JSON.stringify(args))}.`
}
