import type { Approval } from '../wire/approval.ts'
import { ApprovalsClient, serverFlags } from './approvals/approvals-client.ts'
import { BaseCommand } from './base-command.ts'

export default class Approvals extends BaseCommand {
  static override description = 'Lists the calls and questions that wait for a person, oldest first.'
  static override examples = [
    '<%= config.bin %> approvals',
    '<%= config.bin %> approvals approve mcpr_019a…-000',
    '<%= config.bin %> approvals reject mcpr_019a…-000 --reason "too expensive"',
  ]
  static override flags = serverFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(Approvals)
    const approvals = await new ApprovalsClient(flags).list()
    if (approvals.length === 0) this.log('No pending approvals.')
    for (const approval of approvals) this.log(describe(approval))
  }
}

function describe({ id, agent, kind, name, arguments: args, message, created_at }: Approval): string {
  const asked = kind === 'question' ? `asks: ${message}` : `wants to call ${name}(${JSON.stringify(args)})`
  const since = new Date(created_at * 1000).toLocaleString()
  return `${id}\n  ${agent} ${asked}\n  since ${since}`
}
