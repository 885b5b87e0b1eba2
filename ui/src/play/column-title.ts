import { nameChanges } from '../../../src/wire/describe-change.ts'
import type { Column } from '../responses/column.ts'

/** `support`, `support · temperature 0.2`, `support · system_prompt: +Be brief.` */
export function columnTitle({ model, temperature, changes = [] }: Column): string {
  const parts = [
    model,
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(changes.length === 0 ? [] : [nameChanges(changes)]),
  ]
  return parts.join(' · ')
}
