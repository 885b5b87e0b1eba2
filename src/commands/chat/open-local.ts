import { HostError, hasCode } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Message, ToolCall } from '../../protocols/message.ts'
import { toAttachmentJson } from '../../run/attachment-json.ts'
import type { RunEvent } from '../../run/run-event.ts'
import { bindAnswer, type PendingAnswer, type PendingCall } from '../../run/waiting/pending-call.ts'
import { toGivenAnswer } from '../../server/inbox/decision-request.ts'
import type { ApprovalDecision } from '../../wire/approval.ts'
import { openAgents, stderrLog } from '../agents/open-agents.ts'
import type { Backend, Conversation, Reply, ReplyListener, ToolOutcome } from './backend.ts'

/** The agents of this project, in this process. */
export async function openLocal(agentDir: string): Promise<Backend> {
  const { host, trace, close } = await openAgents(agentDir, { log: stderrLog })
  await trace()
  return {
    async agents() {
      return host
        .list()
        .flatMap(({ id, description, entryPoints }) => [
          { id, description },
          ...entryPoints.map((name) => ({ id: `${id}/${name}`, description: '' })),
        ])
    },
    open: (agent) => new LocalConversation(host, agent),
    howToDecide: (agent) => `To decide, ask without --once: agent-host chat ${agent}`,
    close,
  }
}

class LocalConversation implements Conversation {
  readonly #host: AgentHost
  readonly #agent: string
  #messages: readonly Message[] = []
  /** Turn that waits. */
  #waiting: { readonly trail: readonly Message[]; readonly pending: readonly PendingCall[] } | undefined

  constructor(host: AgentHost, agent: string) {
    this.#host = host
    this.#agent = agent
  }

  get said(): readonly Message[] {
    return this.#messages.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content !== '')
  }

  ask(text: string, listener: ReplyListener): Promise<Reply> {
    return this.#run([...this.#messages, { role: 'user', content: text }], {}, listener)
  }

  decide(decisions: readonly ApprovalDecision[], listener: ReplyListener): Promise<Reply> {
    const { trail = [], pending = [] } = this.#waiting ?? {}
    const answers = pending.map((call, index) =>
      bindAnswer({ callId: call.callId, ...toGivenAnswer(decisions[index] as ApprovalDecision) }, call),
    )
    return this.#run(trail, { pending, answers }, listener)
  }

  async #run(
    messages: readonly Message[],
    decided: { pending?: readonly PendingCall[]; answers?: readonly PendingAnswer[] },
    listener: ReplyListener,
  ): Promise<Reply> {
    const toolCalls: ToolOutcome[] = []
    const onEvent = translate(listener, toolCalls)
    try {
      const result = await this.#host.run(this.#agent, messages, { ...decided, onEvent, signal: listener.signal })
      const { text, runId, trail, pending, attachments } = result
      if (pending.length === 0) this.#messages = trail
      this.#waiting = { trail, pending }
      // The chat offers no tools of its own: a run waits for a person alone.
      const waitsFor = pending as Reply['waitsFor']
      return { text, runId, toolCalls, attachments: attachments.map(toAttachmentJson), waitsFor }
    } catch (error) {
      throw nameFailure(error, this.#agent)
    }
  }
}

function translate(listener: ReplyListener, toolCalls: ToolOutcome[]) {
  const begun = new Map<string, ToolCall>()
  return (event: RunEvent): void => {
    if (event.type === 'text') listener.onText(event.text)
    if (event.type === 'attachment') listener.onText(`\n[attachment: ${event.attachment.mediaType}]\n`)
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

function nameFailure(error: unknown, agent: string): unknown {
  if (!hasCode(error, 'AGENT_FAILED')) return error
  return new HostError('AGENT_FAILED', `Agent '${agent}' failed: ${error.message}`, { cause: error.cause })
}
