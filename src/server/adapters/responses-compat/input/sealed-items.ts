import type { ReasoningData } from '../../../../durable/runs/sealed-reasoning.ts'
import type { InputItem } from '../routes/schema.ts'

/** Opens what a client gives back: undefined for what was not sealed here, for this tenant and agent. */
export interface Unsealing {
  readonly reasoning: (sealed: string) => ReasoningData | undefined
}

/** Item whose content only this server can read. */
export function isSealed(item: InputItem): item is InputItem & { readonly encrypted_content: string } {
  return item.type === 'reasoning' && typeof (item as { encrypted_content?: unknown }).encrypted_content === 'string'
}
