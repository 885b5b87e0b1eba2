import type { OpenCall } from 'agent-host'

/** Something that a run waits for, as `RUN_FINISHED` has it. */
export interface Interrupt {
  readonly id: string
  readonly reason: string
  readonly message: string
  readonly toolCallId: string
  /** Call of the agent that asks. */
  readonly subagentRunId?: string
  readonly responseSchema?: object
  /** ISO 8601. */
  readonly expiresAt?: string
  readonly metadata: object
}

/** Describes a call that waits for a person, as an `Interrupt`. Undefined for a call of the client's own tool, which its result answers. */
export function toInterrupt({ id, call }: OpenCall, atMs: number): Interrupt | undefined {
  const { kind, name, callId, within, schema, message, url, ttlSeconds, arguments: args, asker } = call
  if (kind === 'client_tool') return undefined
  const isApproval = kind === 'approval'
  const metadata = {
    name,
    ...(isApproval ? { arguments: args } : {}),
    ...(url ? { url } : {}),
    ...(asker ? { agent: asker.agent } : {}),
  }
  return {
    id,
    reason: isApproval ? 'tool_call' : 'input_required',
    message: message ?? `May ${name} be called?`,
    toolCallId: within ?? callId,
    ...(within === undefined ? {} : { subagentRunId: within }),
    ...(isApproval ? { responseSchema: approvalSchema(schema) } : schema ? { responseSchema: schema } : {}),
    ...(ttlSeconds === undefined ? {} : { expiresAt: new Date(atMs + ttlSeconds * 1000).toISOString() }),
    metadata,
  }
}

function approvalSchema(args: object = { type: 'object' }): object {
  return {
    type: 'object',
    properties: { approved: { type: 'boolean' }, editedArgs: args, reason: { type: 'string' } },
    required: ['approved'],
  }
}
