import { formatPath } from '../format.ts'
import type { Column } from '../responses/column.ts'

/** `support`, `support · temperature 0.2`, `support · changed: system_prompt`. */
export function columnTitle({ model, temperature, changes = [] }: Column): string {
  const names = new Set(changes.map(({ agent, path }) => (agent === undefined ? '' : `${agent} `) + formatPath(path)))
  const parts = [
    model,
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(names.size === 0 ? [] : [`changed: ${[...names].join(', ')}`]),
  ]
  return parts.join(' · ')
}
