import { onAbort } from '../../../../async.ts'
import { badRequest, HostError } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { LLM } from '../../../../protocols/llm.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { Run, Usage } from '../../../../protocols/run.ts'
import { addUsage, NO_USAGE } from '../../../../protocols/usage.ts'
import { callsOf } from '../../../../wire/paired-calls.ts'
import type { AgentDescription } from '../../../../wiring/describe-agent.ts'

/** Conversation that is to be summarized. */
export interface SummaryRequest {
  readonly tenant: string
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  /** Instructions of the conversation. */
  readonly instructions: string | undefined
  readonly messages: readonly Message[]
}

const PROMPT = `Summarize the conversation below for the assistant that continues it and sees the summary in its place. Keep names, numbers, dates, decisions, promises, results of tools, what the user wants and what is still open. Take over everything from an earlier summary that still holds. Write nothing but the summary.`

/**
 * Summarizes a conversation with the agent's own model.
 *
 * @param signal aborts the model
 * @throws HostError `AGENT_NOT_FOUND`; `REQUEST_INVALID` for an agent without a model; `AGENT_FAILED` for an empty summary
 */
export async function summarize(
  host: AgentHost,
  { tenant, agent: name, instructions, messages }: SummaryRequest,
  signal: AbortSignal,
): Promise<{ summary: string; usage: Usage }> {
  const { agent, entryPoint } = host.resolve(name)
  const moduleId = modelOf(host.describe(agent.id), entryPoint)
  if (moduleId === undefined) {
    throw badRequest(`Agent '${agent.id}' has no model to summarize with`)
  }
  const system = instructions ? `${PROMPT}\n\nInstructions of the conversation:\n${instructions}` : PROMPT
  const request: Message[] = [
    { role: 'system', content: system },
    { role: 'user', content: messages.map(toTranscript).join('\n\n') },
  ]
  const usage = { ...NO_USAGE }
  const act = async (llm: LLM, run: Run) => {
    onAbort(signal, () => host.abort(run.id, signal.reason))
    let summary = ''
    for await (const part of llm.generate({ messages: request }, run)) {
      if (part.type === 'text') summary += part.text
      else if (part.type === 'usage') addUsage(usage, part.usage)
    }
    run.addUsage(usage)
    return summary.trim()
  }
  const summary = await host.callModule(agent.id, { moduleId, protocol: LLM, act, tenant })
  if (!summary) throw new HostError('AGENT_FAILED', `The model of agent '${agent.id}' gave an empty summary.`)
  return { summary, usage }
}

/** The model that the entry point asks, or else the first one. */
function modelOf(description: AgentDescription | undefined, entryPoint: string): string | undefined {
  const { modules = [], exchange = [] } = description ?? {}
  const entry = exchange.find(({ module }) => module === '__entry__')?.provider
  const asker = entryPoint === '__entry__' ? entry : entryPoint
  const asked = exchange.find(({ module, protocol }) => module === asker && protocol === LLM.name)?.provider
  return asked ?? modules.find(({ provides }) => provides.includes(LLM.name))?.id
}

function toTranscript(message: Message): string {
  const called = callsOf(message).map(({ name, arguments: args }) => `[calls ${name} ${JSON.stringify(args)}]`)
  return `${message.role}: ${[message.content, ...called].filter((text) => text !== '').join('\n')}`
}
