import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { REASONING, type ReasoningData } from '../../../../durable/runs/sealed-reasoning.ts'
import type { Fields } from '../../../../is-object.ts'
import type { InputItem } from '../routes/schema.ts'
import type { CompactionContent } from './compaction.ts'

/** Name of what is sealed in a compaction item. */
export const COMPACTION = 'compaction'

/** Opens what a client gives back: undefined for what was not sealed here, for this tenant, and for reasoning this agent. */
export interface Unsealing {
  /** Left out where the agent is not known: reasoning is then no part of the conversation. */
  readonly reasoning: ((sealed: string) => ReasoningData | undefined) | undefined
  readonly compaction: (sealed: string) => CompactionContent | undefined
}

type SealedItem = InputItem & { readonly encrypted_content: string }

/**
 * Returns how the sealed items of an input are opened; undefined, without a look at the key, where there are none.
 *
 * @param findAgent returns the id of the agent
 */
export function unsealingFor(
  items: readonly InputItem[],
  runs: Pick<DurableRuns<object, unknown>, 'clientSeal'>,
  findAgent?: () => string,
): Promise<Unsealing> | undefined {
  return items.some(isSealed) ? readUnsealing(runs, findAgent?.()) : undefined
}

/** Item whose content only this server can read. */
export function isSealed(item: InputItem): item is SealedItem {
  const { type, encrypted_content: content }: Fields = item
  return (type === 'reasoning' || type === 'compaction') && typeof content === 'string'
}

async function readUnsealing(
  runs: Pick<DurableRuns<object, unknown>, 'clientSeal'>,
  agentId: string | undefined,
): Promise<Unsealing> {
  const compaction = await runs.clientSeal(COMPACTION)
  const reasoning = agentId === undefined ? undefined : await runs.clientSeal(REASONING, agentId)
  return {
    reasoning: reasoning && ((sealed) => reasoning.open(sealed) as ReasoningData | undefined),
    compaction: (sealed) => compaction.open(sealed) as CompactionContent | undefined,
  }
}
