import { type AdapterFacts, isAdapterFacts } from '../../../../durable/adapter-runs/adapter-facts.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { ModelOptions } from '../../../../protocols/model-options.ts'
import { beginRecord } from '../input/begin-record.ts'
import { toInputItems } from '../input/to-input-items.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'

/** Stored runs as this adapter starts them. Those that another one started are read by {@link findResponse}. */
export type ResponseRuns = DurableRuns

/** Response as it was read. */
export type StoredResponse = StoredRun

/** Returns durable runs with the types of this adapter's rows. */
export function toResponseRuns(runs: DurableRuns): ResponseRuns {
  return runs as ResponseRuns
}

/** Reads a run as a response, whichever adapter started it. */
export async function findResponse(runs: ResponseRuns, id: string): Promise<StoredResponse | undefined> {
  const stored = await runs.store.get(id)
  return stored && toResponse(runs, stored)
}

/** Returns a run as a response: one of another adapter gets the record of what its agent was asked. */
export async function toResponse(runs: ResponseRuns, stored: StoredResponse): Promise<StoredResponse> {
  const facts: object = stored.facts
  if (!isAdapterFacts(facts)) return stored
  const { id } = stored
  const turn = await runs.conversations.turn(id)
  const messages = turn ? await runs.store.messagesOf(turn) : []
  const items = toInputItems(messages.slice(0, lastQuestion(messages) + 1).flatMap(toInput), id, facts.createdAt)
  return { ...stored, facts: toRecord(id, facts), items, inputs: items.length }
}

function lastQuestion(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user')
}

function toInput({ role, content }: Message) {
  return role === 'tool' ? [] : [{ role, content }]
}

function toRecord(id: string, { agent, createdAt, previousId, options }: AdapterFacts): ResponseRecord {
  const { requestOptions = {}, instructions, user, metadata, background } = options
  const more = { ...toOptionFields(requestOptions), instructions, user, metadata: metadata && { ...metadata } }
  const body = { ...more, model: agent, input: [], previous_response_id: previousId, background }
  return beginRecord(body, id, createdAt)
}

/** Options for a model as fields of a request, to be shown in the record. `stop` and `seed` have none in this API. */
function toOptionFields(options: ModelOptions) {
  const { temperature, topP, maxOutputTokens, presencePenalty, frequencyPenalty, reasoningEffort, responseSchema } =
    options
  return {
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    ...(responseSchema
      ? { text: { format: { type: 'json_schema' as const, name: 'answer', schema: responseSchema } } }
      : {}),
  }
}
