import { shorten } from '../shorten.ts'
import type { Approval } from '../wire/approval.ts'
import { nameAsker } from '../wire/name-asker.ts'
import { type ApprovalsClient, serverFlags } from './approvals/approvals-client.ts'
import { useApprovals } from './approvals/use-approvals.ts'
import { BaseCommand } from './base-command.ts'
import { describeWaiting } from './terminal/describe-waiting.ts'
import { formatTime } from './terminal/format-time.ts'
import { oneLine } from './terminal/one-line.ts'

export default class Approvals extends BaseCommand {
  static override description = 'Lists the calls and questions that wait for a person, oldest first.'
  static override examples = [
    'agent-host approvals',
    'agent-host approvals approve 019a',
    'agent-host approvals reject 019a --reason "too expensive"',
    'agent-host approvals answer 019a M',
  ]
  static override flags = serverFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(Approvals)
    await useApprovals(flags, (client) => this.#list(client))
  }

  async #list(client: ApprovalsClient): Promise<void> {
    const approvals = await client.list()
    if (approvals.length === 0) this.log('No pending approvals.')
    for (const approval of approvals) {
      // A key may decide without being able to read responses.
      const question = await client.questionOf(approval).catch(() => undefined)
      this.logLines(describe(approval, question))
    }
  }
}

function describe(approval: Approval, question: string | undefined): string[] {
  const { id, agent, asked_by, created_at } = approval
  return [
    id,
    ...(question === undefined ? [] : [`  user: ${shorten(oneLine(question), MAX_QUESTION)}`]),
    `  ${nameAsker({ agent, askedBy: asked_by })} ${describeWaiting(approval)}`,
    `  since ${formatTime(created_at)}`,
  ]
}

const MAX_QUESTION = 200
