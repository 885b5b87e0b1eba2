import { HostError } from '../../errors.ts'
import type { ToolCall } from '../../protocols/message.ts'
import type { RunEvent } from '../../run/run-event.ts'
import { openAgents, stderrLog } from '../open-agents.ts'
import type { AnswerListener, Backend, ToolOutcome } from './backend.ts'

/** The agents of this project, in this process. */
export async function openLocal(agentDir: string): Promise<Backend> {
  const { host, close } = await openAgents(agentDir, stderrLog)
  return {
    async agents() {
      return host
        .list()
        .flatMap(({ id, description, entryPoints }) => [
          { id, description },
          ...entryPoints.map((name) => ({ id: `${id}/${name}`, description: '' })),
        ])
    },
    async ask(agent, messages, listener) {
      const toolCalls: ToolOutcome[] = []
      const onEvent = translate(listener, toolCalls)
      try {
        const result = await host.run(agent, messages, { onEvent, signal: listener.signal })
        const { text, runId, trail, pending } = result
        return { text, runId, toolCalls, messages: trail, waitsFor: pending.map(({ name }) => name) }
      } catch (error) {
        throw explain(error, agent)
      }
    },
    close,
  }
}

function translate(listener: AnswerListener, toolCalls: ToolOutcome[]) {
  const begun = new Map<string, ToolCall>()
  return (event: RunEvent): void => {
    if (event.type === 'text') listener.onText(event.text)
    if (event.type === 'tool_call') {
      begun.set(event.call.id, event.call)
      listener.onCall(event.call.name, event.call.arguments)
    }
    const call = event.type === 'tool_result' ? begun.get(event.callId) : undefined
    if (event.type !== 'tool_result' || !call) return
    const { text, isError } = event.result
    const outcome = { name: call.name, arguments: call.arguments, ...(isError ? { error: text } : { result: text }) }
    toolCalls.push(outcome)
    listener.onCallEnd(outcome)
  }
}

function explain(error: unknown, agent: string): unknown {
  if (!(error instanceof HostError) || error.code !== 'AGENT_FAILED') return error
  return new HostError('AGENT_FAILED', `Agent '${agent}' failed: ${error.message}`, { cause: error.cause })
}
