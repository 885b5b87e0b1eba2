import { toDataUrl } from '../../../../data-url.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { nowSeconds } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { LLM } from '../../../../protocols/llm.ts'
import type { Attachment, Message } from '../../../../protocols/message.ts'
import type { Run, Usage } from '../../../../protocols/run.ts'
import { addUsage, NO_USAGE } from '../../../../protocols/usage.ts'
import type { AgentDescription } from '../../../../wiring/describe-agent.ts'
import { outputItemId } from '../ids.ts'
import { toInputItems } from '../input/convert.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { ItemReferences } from '../input/item-references.ts'
import { readInput, toToolMessage } from '../input/to-messages.ts'
import { encodeSummary } from '../output/compaction-item.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { Compaction, CompactRequest, InputItem, ResponseRecord } from '../routes/schema.ts'

export interface CompactorOptions {
  readonly runs: DurableRuns<ResponseRecord, InputItem>
  readonly ids: RunIds
  readonly earlier: EarlierTurns
  readonly host: AgentHost
  readonly limits: HistoryLimits
}

const PROMPT = `Summarize the conversation below for the assistant that continues it and sees the summary in its place. Keep names, numbers, dates, decisions, promises, results of tools, what the user wants and what is still open. Take over everything from an earlier summary that still holds. Write nothing but the summary.`

/** Shortens conversations by a summary of the agent's own model. */
export class Compactor {
  readonly #options: CompactorOptions

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  /**
   * Returns the replacement of a conversation: the user's messages, and a summary of everything.
   *
   * @param signal aborts the model
   */
  async compact(body: CompactRequest, signal: AbortSignal): Promise<Compaction> {
    const { ids, host } = this.#options
    const { agent, entryPoint } = host.resolve(body.model)
    const id = ids.next()
    const messages = await this.#read(body, id)
    const { summary, usage } = await this.#summarize(agent.id, entryPoint, body, messages, signal)
    const said = messages
      .filter((message) => message.role === 'user')
      .map((message, index) => toItem(message, id, index))
    const compaction = {
      type: 'compaction',
      id: outputItemId('compaction', id, said.length),
      encrypted_content: encodeSummary(summary),
    } as const
    return {
      id,
      object: 'response.compaction',
      created_at: nowSeconds(),
      output: [...said, compaction],
      usage: toTokenUsage(usage),
    }
  }

  async #read(body: CompactRequest, id: string): Promise<Message[]> {
    const { runs, earlier, limits } = this.#options
    const budget = new HistoryBudget(limits)
    const items = toInputItems(body.input ?? [], id, nowSeconds())
    const { messages, outputs } = readInput(await new ItemReferences(runs, budget).resolve(items))
    budget.addItems(items.length, 0)
    const { conversation } = await earlier.read(body, { budget, unstored: undefined })
    const all = [...(conversation?.messages ?? []), ...outputs.map(toToolMessage), ...messages]
    if (all.length > 0) return all
    throw new HostError('REQUEST_INVALID', 'input or previous_response_id is required')
  }

  async #summarize(
    agentId: string,
    entryPoint: string,
    { instructions }: CompactRequest,
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<{ summary: string; usage: Usage }> {
    const { host } = this.#options
    const moduleId = modelOf(host.describe(agentId), entryPoint)
    if (moduleId === undefined)
      throw new HostError('REQUEST_INVALID', `Agent '${agentId}' has no model to summarize with`)
    const system = instructions ? `${PROMPT}\n\nInstructions of the conversation:\n${instructions}` : PROMPT
    const request: Message[] = [
      { role: 'system', content: system },
      { role: 'user', content: messages.map(toTranscript).join('\n\n') },
    ]
    const usage = { ...NO_USAGE }
    const act = async (llm: LLM, run: Run) => {
      const abort = () => host.abort(run.id, signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
      let summary = ''
      for await (const part of llm.generate({ messages: request }, run)) {
        if (part.type === 'text') summary += part.text
        else if (part.type === 'usage') addUsage(usage, part.usage)
      }
      run.addUsage(usage)
      return summary.trim()
    }
    const summary = await host.callModule(agentId, {
      moduleId,
      protocol: LLM,
      act,
      tenant: this.#options.runs.tenant,
    })
    if (!summary) throw new HostError('AGENT_FAILED', `The model of agent '${agentId}' gave an empty summary.`)
    return { summary, usage }
  }
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
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
  const called = calls.map(({ name, arguments: args }) => `[calls ${name} ${JSON.stringify(args)}]`)
  return `${message.role}: ${[message.content, ...called].filter((text) => text !== '').join('\n')}`
}

function toItem(message: Extract<Message, { role: 'user' }>, responseId: string, index: number) {
  const text = message.content === '' ? [] : [{ type: 'input_text', text: message.content }]
  const content = [...text, ...(message.attachments ?? []).map(toPart)]
  return {
    type: 'message',
    id: outputItemId('message', responseId, index),
    status: 'completed',
    role: 'user',
    content,
  } as const
}

function toPart({ mediaType, name, data }: Attachment) {
  const url = data instanceof URL ? data.href : toDataUrl({ mediaType, data })
  if (mediaType.startsWith('image/')) return { type: 'input_image', image_url: url, detail: 'auto' }
  return {
    type: 'input_file',
    ...(name === undefined ? {} : { filename: name }),
    ...(data instanceof URL ? { file_url: url } : { file_data: url }),
  }
}
