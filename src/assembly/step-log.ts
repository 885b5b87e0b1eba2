import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { AgentEvent } from '../run/calls/call-event.ts'
import { projectStack } from '../run/calls/project-stack.ts'
import { writePayload } from '../trace/payload.ts'

const MAX_CHARS = 200

/** In debug mode each call of a tool is a line of the log, with its answer; one that throws is a warning with its place in the project. */
export function logSteps(host: AgentHost, log: Log): void {
  const calls = new Map<string, AgentEvent>()
  host.onEvent((event) => {
    if (event.method_name !== 'executeTool') return
    if (event.event_type === 'call') calls.set(event.call_id, event)
    else {
      const call = calls.get(event.call_id)
      calls.delete(event.call_id)
      if (!call) return
      if (event.exception === null) log.info(describeStep(call, event))
      else log.warn(`${describeStep(call, event)}\n${projectStack(event.exception, host.projectDir)}`)
    }
  })
}

function describeStep({ agent_id, module_id, arguments: given }: AgentEvent, end: AgentEvent): string {
  const [tool, args] = given?.args ?? []
  const { text } = (end.result ?? {}) as { text?: string }
  const outcome =
    end.exception === null ? shorten(text ?? '') : `failed: ${shorten(end.exception.split('\n')[0] ?? '')}`
  return `${agent_id}  ${module_id}.executeTool ${tool}(${shorten(args === undefined ? '' : writePayload(args, asItIs))}) → ${outcome}`
}

/** The log itself takes the secrets of the environment out. */
const asItIs = (text: string): string => text

function shorten(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}… (${text.length} characters)` : text
}
