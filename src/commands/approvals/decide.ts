import { Args, Flags } from '@oclif/core'
import { badOption, badRequest, messageOf } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Approval, ApprovalDecision } from '../../wire/approval.ts'
import { BaseCommand } from '../base-command.ts'
import { decideFlags, type ServerFlags } from './approvals-client.ts'
import { useApprovals } from './use-approvals.ts'

const id = Args.string({
  description: 'Id, as `agent-host approvals` lists it, or its first characters',
  required: true,
})

export class ApprovalsApprove extends BaseCommand {
  static override description =
    'Approves a call. The server executes it with the arguments shown, and the agent continues.'
  static override examples = ['agent-host approvals approve 019a']
  static override args = { id }
  static override flags = decideFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsApprove)
    this.log(await decideCall(flags, args.id, { decision: 'approve' }))
  }
}

export class ApprovalsReject extends BaseCommand {
  static override description = 'Rejects a call. It is not executed, and the model sees the reason.'
  static override examples = ['agent-host approvals reject 019a --reason "too expensive"']
  static override args = { id }
  static override flags = { reason: Flags.string({ description: 'Reason, shown to the model' }), ...decideFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsReject)
    this.log(await decideCall(flags, args.id, { decision: 'reject', reason: flags.reason }))
  }
}

export class ApprovalsEdit extends BaseCommand {
  static override description = 'Approves a call with other arguments. They must fit the schema of the tool.'
  static override examples = [`agent-host approvals edit 019a --arguments '{"amount": 4}'`]
  static override args = { id }
  static override flags = {
    ...decideFlags,
    arguments: Flags.string({ description: 'Arguments as JSON', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsEdit)
    const edited = readArguments(flags.arguments)
    this.log(await decideCall(flags, args.id, { decision: 'edit', arguments: edited }))
  }
}

export class ApprovalsAnswer extends BaseCommand {
  static override description = 'Answers the question of a tool.'
  static override examples = ['agent-host approvals answer 019a M', `agent-host approvals answer 019a '{"size": "M"}'`]
  static override args = {
    id,
    answer: Args.string({ description: 'Answer: JSON, or text if the question takes a text', required: true }),
  }
  static override flags = decideFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ApprovalsAnswer)
    const outcome = await decide(flags, args.id, ({ id, kind, name, schema }) => {
      if (kind === 'question') return { decision: 'answer', answer: readAnswer(args.answer, schema) }
      throw badRequest(`The call of ${name} waits for an approval, not for an answer.`, {
        suggestions: [`agent-host approvals approve ${id}`, `agent-host approvals reject ${id}`],
      })
    })
    this.log(outcome)
  }
}

function decideCall(flags: ServerFlags, prefix: string, decision: ApprovalDecision): Promise<string> {
  return decide(flags, prefix, ({ id, kind, name, message }) => {
    if (kind === 'approval') return decision
    throw badRequest(`${name} asks a question: ${message}`, {
      suggestions: [`agent-host approvals answer ${id} <answer>`],
    })
  })
}

async function decide(
  flags: ServerFlags,
  prefix: string,
  toDecision: (approval: Approval) => ApprovalDecision,
): Promise<string> {
  const {
    status,
    name,
    continued_by: next,
  } = await useApprovals(flags, async (client) => {
    const approval = await client.find(prefix)
    return client.decide(approval.id, toDecision(approval))
  })
  const outcome = `${status[0]?.toUpperCase()}${status.slice(1)}: ${name}.`
  return next === null
    ? `${outcome} The agent continues once everything else is decided.`
    : `${outcome} It continues as ${next}.`
}

/** Text in quotes is JSON too. */
function readAnswer(text: string, schema: Approval['schema']): unknown {
  if (schema?.type !== 'string') return readJson('The answer', text)
  return /^".*"$/s.test(text) ? readJson('The answer', text) : text
}

function readArguments(text: string): Readonly<Record<string, unknown>> {
  const value = readJson('--arguments', text)
  if (isObject(value)) return value
  throw badOption('--arguments must be a JSON object.')
}

function readJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badOption(`${what} is not JSON: ${messageOf(cause)}.`, { cause })
  }
}
