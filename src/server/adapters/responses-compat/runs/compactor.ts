import { toDataUrl } from '../../../../data-url.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import { summarize } from '../../../../durable/conversations/summarize.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { nowSeconds } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import type { Attachment, Message } from '../../../../protocols/message.ts'
import { outputItemId } from '../ids.ts'
import { toInputItems } from '../input/convert.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { ItemReferences } from '../input/item-references.ts'
import { readInput, toToolMessage } from '../input/to-messages.ts'
import { encodeSummary } from '../output/compaction-item.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { Compaction, CompactRequest } from '../routes/schema.ts'
import type { ResponseRuns } from './response-runs.ts'

export interface CompactorOptions {
  readonly runs: ResponseRuns
  readonly ids: RunIds
  readonly earlier: EarlierTurns
  readonly host: AgentHost
  readonly limits: HistoryLimits
}

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
    const { ids, host, runs } = this.#options
    // An unknown name is refused before the store is read.
    host.resolve(body.model)
    const id = ids.next()
    const messages = await this.#read(body, id)
    const { model: agent, instructions } = body
    const request = { tenant: runs.tenant, agent, instructions: instructions ?? undefined, messages }
    const { summary, usage } = await summarize(host, request, signal)
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
