import { formatCost, formatCount } from '../format.ts'
import type { ModelUsage } from '../types.ts'

interface ModelsTableProps {
  readonly models: readonly ModelUsage[]
  /** Day of the prices that come with the server. */
  readonly pricesDate: string
}

/** Tokens and cost by model, the dearest first. */
export function ModelsTable({ models, pricesDate }: ModelsTableProps) {
  if (models.length === 0) return null
  const sorted = [...models].sort((one, other) => (other.cost ?? -1) - (one.cost ?? -1))
  return (
    <section class="panel">
      <h2>By model</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="By model">
        <table>
          <thead>
            <tr>
              <th scope="col">Model</th>
              {['Tokens in', 'cached', 'Tokens out', 'reasoning', 'Cost'].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((usage) => (
              <ModelRow key={usage.model} usage={usage} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted table-note">
        Prices of {pricesDate}; <code>prices.yml</code> in the project takes precedence. No price, no cost.
      </p>
    </section>
  )
}

function ModelRow({ usage }: { usage: ModelUsage }) {
  return (
    <tr>
      <th scope="row">{usage.model ?? <span class="muted">unnamed model</span>}</th>
      <td class="number">{formatCount(usage.input_tokens)}</td>
      <td class="number">{formatCount(usage.cached_input_tokens)}</td>
      <td class="number">{formatCount(usage.output_tokens)}</td>
      <td class="number">{formatCount(usage.reasoning_tokens)}</td>
      <td class="number">{usage.cost === null ? <span class="muted">no price</span> : formatCost(usage.cost)}</td>
    </tr>
  )
}
