import type { Column } from './threads.ts'

/** `support`, `support · temperature 0.2`. */
export function columnTitle({ model, temperature }: Column): string {
  return temperature === undefined ? model : `${model} · temperature ${temperature}`
}
