import { participantName } from '../format.ts'
import type { ExchangeRow, ModuleSummary } from './graph-layout.ts'

interface NodeCardProps {
  /** Module that the pointer or the focus is on; empty for none. */
  readonly id: string
  readonly modules: readonly ModuleSummary[]
  readonly exchange: readonly ExchangeRow[]
}

/** The wiring of one module in words, with what the host itself provides: it is no part of the picture. */
export function NodeCard({ id, modules, exchange }: NodeCardProps) {
  const module = modules.find((each) => each.id === id)
  if (!module) return null
  const used = exchange.filter((row) => row.module === id)
  return (
    <div class="node-card-text" role="status">
      <b>{id}</b> <code class="muted">{module.module}</code>
      <ul>
        {used.map(({ protocol, provider, fieldName }) => (
          <li key={`${fieldName} ${provider}`}>
            {protocol} <span class="muted">from</span> {participantName(provider)}
          </li>
        ))}
        {used.length === 0 && <li class="muted">Uses no other module.</li>}
      </ul>
    </div>
  )
}
