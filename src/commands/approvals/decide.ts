import { Args, Flags } from '@oclif/core'
import { HostError } from '../../errors.ts'
import { BaseCommand } from '../base-command.ts'
import { ApprovalsClient, serverFlags } from './approvals-client.ts'

const id = Args.string({ description: 'Id, as `agent-host approvals` lists it', required: true })

export class ApprovalsApprove extends BaseCommand {
  static override description = 'Approves a call: it is executed as it was asked for, and the agent goes on.'
  static override args = { id }
  static override flags = serverFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsApprove)
    this.log(await decide(flags, args.id, { decision: 'approve' }))
  }
}

export class ApprovalsReject extends BaseCommand {
  static override description = 'Rejects a call: it is not executed, and the model is told.'
  static override args = { id }
  static override flags = { ...serverFlags, reason: Flags.string({ description: 'Reason, shown to the model' }) }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsReject)
    this.log(await decide(flags, args.id, { decision: 'reject', reason: flags.reason }))
  }
}

export class ApprovalsEdit extends BaseCommand {
  static override description = 'Approves a call with other arguments, which must fit the schema of the tool.'
  static override examples = [`<%= config.bin %> approvals edit mcpr_019a…-000 --arguments '{"amount": 4}'`]
  static override args = { id }
  static override flags = {
    ...serverFlags,
    arguments: Flags.string({ description: 'Arguments as JSON', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsEdit)
    const edited = readJson('--arguments', flags.arguments)
    this.log(await decide(flags, args.id, { decision: 'edit', arguments: edited }))
  }
}

export class ApprovalsAnswer extends BaseCommand {
  static override description = 'Answers the question of a tool.'
  static override examples = [`<%= config.bin %> approvals answer mcpr_019a…-000 --value '"red"'`]
  static override args = { id }
  static override flags = { ...serverFlags, value: Flags.string({ description: 'Answer as JSON', required: true }) }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsAnswer)
    this.log(await decide(flags, args.id, { decision: 'answer', answer: readJson('--value', flags.value) }))
  }
}

async function decide(
  flags: { url: string; 'api-key'?: string | undefined },
  approvalId: string,
  decision: object,
): Promise<string> {
  const { status, name, continued_by: next } = await new ApprovalsClient(flags).decide(approvalId, decision)
  const outcome = `${status[0]?.toUpperCase()}${status.slice(1)}: ${name}.`
  return next === null
    ? `${outcome} The agent goes on when everything else is decided.`
    : `${outcome} It goes on as ${next}.`
}

function readJson(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HostError('OPTION_INVALID', `${flag} is not JSON: ${(cause as Error).message}.`, { cause })
  }
}
