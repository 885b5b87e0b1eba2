import type { AgentHost } from '../host/host.ts'
import { fieldsOf } from '../json.ts'
import type { Log } from '../protocols/log.ts'
import type { Redact } from '../redaction/redact.ts'
import { type AgentEvent, withoutPlainName } from '../run/calls/agent-events.ts'
import { foldStack } from '../run/calls/fold-stack.ts'
import type { PendingCall } from '../run/waiting/pending-call.ts'
import { isWaitingResult } from '../run/waiting/waits-for.ts'
import { isFailedResult } from '../trace/calls/describe-event.ts'
import { writePayload } from '../trace/files/payload.ts'
import { nameAsker } from '../wire/name-asker.ts'

const MAX_CHARS = 200

/** Takes secrets out of a text before it is cut: half of one would not be recognized. */
type Show = (text: string) => string

/**
 * In debug mode each call of a tool is a line of the log, with its answer; one that fails is a warning, with its place in the project where it
 * threw. A call that waits is a line at the end of its run.
 */
export function logSteps(host: AgentHost, log: Log, redact: Redact): void {
  const show: Show = (text) => withLength(redact(text))
  const calls = new Map<string, AgentEvent>()
  host.onEvent((event) => {
    if (event.method_name !== 'executeTool') return
    if (event.event_type === 'call') calls.set(event.call_id, event)
    else {
      const call = calls.get(event.call_id)
      calls.delete(event.call_id)
      if (!call || isWaitingResult(event.result)) return
      const { exception, result } = event
      if (exception === null && !isFailedResult(result)) log.info(describeStep(call, show(textOf(result)), show))
      else
        log.warn(
          describeStep(call, `failed: ${exception === null ? show(textOf(result)) : foldError(exception, host)}`, show),
        )
    }
  })
  host.onRunEnd(({ agentId, parentRunId, pending }) => {
    // Its parent waits for the same calls.
    if (parentRunId !== undefined) return
    for (const call of pending)
      log.info(`${nameAsker(call.asker ?? { agent: agentId, askedBy: [] })}  ${describePending(call, show)}`)
  })
}

function describePending({ kind, name, arguments: args }: PendingCall, show: Show): string {
  const call = `${name}(${show(writePayload(args, asItIs))})`
  if (kind === 'client_tool') return `${call} is handed to the client`
  const what = kind === 'question' ? "a person's answer. Answer" : 'a person. Decide'
  return `${call} waits for ${what} with: agent-host approvals`
}

function describeStep({ agent_id, arguments: given }: AgentEvent, outcome: string, show: Show): string {
  const [tool, args] = given?.args ?? []
  return `${agent_id}  ${tool}(${show(args === undefined ? '' : writePayload(args, asItIs))}) → ${outcome}`
}

function foldError(exception: string, { projectDir }: AgentHost): string {
  return withoutPlainName(foldStack(exception, { projectDir }))
}

function textOf(result: unknown): string {
  const { text } = fieldsOf(result)
  return typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : ''
}

/** The log itself takes the secrets of the environment out. */
const asItIs = (text: string): string => text

function withLength(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}… (${text.length} characters)` : text
}
