import type { OpenCall } from '../../../../durable/adapter-runs/adapter-runs.ts'
import { cleanToDecide } from '../../../../wire/clean-text.ts'
import { nameAsker } from '../../../../wire/name-asker.ts'

/** Tells a client whose user cannot be asked who decides, and how the agent goes on then. */
export function describeOpen(
  open: readonly OpenCall[],
  { baseUrl }: { readonly baseUrl: string | undefined },
  { servesInbox }: { readonly servesInbox: boolean },
): string {
  const calls = open
    .map(
      ({ call }) =>
        `${cleanToDecide(`${call.name}(${JSON.stringify(call.arguments)})`)}${call.asker ? ` of ${nameAsker(call.asker)}` : ''}`,
    )
    .join(', ')
  const links = open.map(({ id }) => `${baseUrl}/compat/approvals/${id}`).join(' and ')
  const how =
    servesInbox && baseUrl !== undefined
      ? `Decide at ${links}, or with: agent-host approvals.`
      : 'Decide with: agent-host approvals.'
  return `The agent needs a person to decide about ${calls}, and this client cannot ask one. ${how}`
}
