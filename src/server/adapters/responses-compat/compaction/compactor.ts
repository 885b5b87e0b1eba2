import { toDataUrl } from '../../../../data-url.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { badRequest } from '../../../../errors.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { nowSeconds } from '../../../../now-seconds.ts'
import type { Attachment, Message } from '../../../../protocols/message.ts'
import type { Usage } from '../../../../protocols/run.ts'
import { toMessageJson } from '../../../../run/attachment-json.ts'
import { toToolMessage } from '../../../../run/state/trail.ts'
import type { PendingCall } from '../../../../run/waiting/pending-call.ts'
import { outputItemId } from '../ids.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { ItemReferences } from '../input/item-references.ts'
import { readInput } from '../input/read-input.ts'
import { COMPACTION, unsealingFor } from '../input/sealed-items.ts'
import { toInputItems } from '../input/to-input-items.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { Compaction, CompactionItem, CompactRequest } from '../routes/schema.ts'
import { type CompactionContent, estimateTokens, keepLatest, keepUnanswered, toCompacted } from './compaction.ts'
import { summarize } from './summarize.ts'

export interface CompactorOptions {
  readonly runs: DurableRuns
  readonly ids: RunIds
  readonly earlier: EarlierTurns
  readonly host: AgentHost
  readonly limits: HistoryLimits
}

/** Conversation that is to be shortened for a response. */
export interface LongConversation {
  readonly responseId: string
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly instructions: string | undefined
  readonly messages: readonly Message[]
  /** Calls without a result. */
  readonly open: readonly PendingCall[]
}

/** Conversation that a summary has shortened. */
export interface ShortConversation {
  readonly messages: readonly Message[]
  /** Stands for it, in the output and in later input. */
  readonly item: CompactionItem
  readonly usage: Usage
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
    const compaction = await this.#toItem(id, said.length, { summary })
    return {
      id,
      object: 'response.compaction',
      created_at: nowSeconds(),
      output: [...said, compaction],
      usage: toTokenUsage(usage),
    }
  }

  /**
   * Puts a summary in the place of a whole conversation; a turn without an answer stays, open calls too.
   *
   * @param signal aborts the model
   */
  summarize(conversation: LongConversation, signal: AbortSignal): Promise<ShortConversation> {
    const { messages, open } = conversation
    return this.#shorten(conversation, keepUnanswered(messages, open.length > 0), signal)
  }

  /**
   * Shortens a conversation of more tokens than this: the last question stays, with what came after it as far as there is room. Undefined
   * for one that is short enough, or has nothing else.
   *
   * @param signal aborts the model
   */
  async limit(
    conversation: LongConversation,
    maxTokens: number,
    signal: AbortSignal,
  ): Promise<ShortConversation | undefined> {
    const { messages } = conversation
    if (estimateTokens(messages) <= maxTokens) return undefined
    const kept = keepLatest(messages, maxTokens)
    return kept.length < messages.length ? this.#shorten(conversation, kept, signal) : undefined
  }

  async #shorten(
    { responseId, agent, instructions, messages, open }: LongConversation,
    kept: readonly Message[],
    signal: AbortSignal,
  ): Promise<ShortConversation> {
    const { runs, host } = this.#options
    const request = { tenant: runs.tenant, agent, instructions, messages }
    const { summary, usage } = await summarize(host, request, signal)
    const customCalls = open.flatMap(({ callId, client }) => (client?.isCustom ? [callId] : []))
    const item = await this.#toItem(responseId, 0, { summary, kept: kept.map(toMessageJson), customCalls })
    return { messages: toCompacted(summary, kept), item, usage }
  }

  async #toItem(responseId: string, index: number, content: CompactionContent): Promise<CompactionItem> {
    const { seal } = await this.#options.runs.clientSeal(COMPACTION)
    return { type: 'compaction', id: outputItemId('compaction', responseId, index), encrypted_content: seal(content) }
  }

  async #read(body: CompactRequest, id: string): Promise<Message[]> {
    const { runs, earlier, limits } = this.#options
    const budget = new HistoryBudget(limits)
    const items = toInputItems(body.input ?? [], id, nowSeconds())
    const resolved = await new ItemReferences(runs, budget).resolve(items)
    const { messages, outputs } = readInput(resolved, 'input', await unsealingFor(resolved, runs))
    budget.addItems(items.length, 0)
    const { before } = await earlier.read(body, { budget, unstored: undefined })
    const all = [
      ...(before?.conversation.messages ?? []),
      ...outputs.map(({ callId, result }) => toToolMessage(callId, result)),
      ...messages,
    ]
    if (all.length > 0) return all
    throw badRequest('input or previous_response_id is required')
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
    filename: name,
    ...(data instanceof URL ? { file_url: url } : { file_data: url }),
  }
}
