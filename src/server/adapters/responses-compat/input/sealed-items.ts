import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { REASONING, type ReasoningData } from '../../../../durable/runs/sealed-reasoning.ts'
import type { Fields } from '../../../../json.ts'
import type { CompactionContent } from '../compaction/compaction.ts'
import type { InputItem } from '../routes/schema.ts'

/** Name of what is sealed in a compaction item. */
export const COMPACTION = 'compaction'

/** Opens what a client gives back: undefined for what was not sealed here, for this tenant, and for reasoning this agent. */
export interface Unsealing {
  /** True where reasoning that cannot be opened is refused; it is left out otherwise. */
  readonly isStrict: boolean
  /** Left out where the agent is not known: reasoning is then no part of the conversation. */
  readonly reasoning: ((sealed: string) => ReasoningData | undefined) | undefined
  readonly compaction: (sealed: string) => CompactionContent | undefined
}

type SealedItem = InputItem & { readonly encrypted_content: string }

/** Rules for the reasoning of a request. */
interface ReasoningRules {
  readonly isStrict: boolean
  /** Returns the id of the agent. */
  findAgent(): string
}

/**
 * Returns how the sealed items of an input are opened; undefined, without a look at the key, where there are none.
 *
 * @param rules left out where the agent is not known
 */
export function unsealingFor(
  items: readonly InputItem[],
  runs: Pick<DurableRuns, 'clientSeal'>,
  rules?: ReasoningRules,
): Promise<Unsealing> | undefined {
  return items.some(isSealed) ? readUnsealing(runs, rules) : undefined
}

/** Item whose content only this server can read. */
export function isSealed(item: InputItem): item is SealedItem {
  const { type, encrypted_content: content }: Fields = item
  return (type === 'reasoning' || type === 'compaction') && typeof content === 'string'
}

async function readUnsealing(
  runs: Pick<DurableRuns, 'clientSeal'>,
  rules: ReasoningRules | undefined,
): Promise<Unsealing> {
  // An unknown name is refused before the key is read.
  const agentId = rules?.findAgent()
  const compaction = await runs.clientSeal(COMPACTION)
  const reasoning = agentId === undefined ? undefined : await runs.clientSeal(REASONING, agentId)
  return {
    isStrict: rules?.isStrict ?? true,
    reasoning: reasoning && ((sealed) => reasoning.open(sealed) as ReasoningData | undefined),
    compaction: (sealed) => compaction.open(sealed) as CompactionContent | undefined,
  }
}
