import { formatCount, formatDuration } from '../format.ts'
import type { Numbers } from '../types.ts'

interface NumbersTableProps {
  readonly title: string
  readonly first: string
  readonly what: string
  readonly rows: readonly { readonly name: string; readonly link: string; readonly numbers: Numbers }[]
}

/** Numbers side by side, the largest first. */
export function NumbersTable({ title, first, what, rows }: NumbersTableProps) {
  if (rows.length === 0) return null
  const sorted = [...rows].sort((a, b) => b.numbers.count - a.numbers.count)
  return (
    <section class="panel">
      <h2>{title}</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{first}</th>
              {[what, 'Errors', 'p50', 'p95', 'Tokens in', 'Tokens out'].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map(({ name, link, numbers }) => (
              <tr key={name}>
                <th scope="row">
                  <a href={link}>{name}</a>
                </th>
                <td class="number">{formatCount(numbers.count)}</td>
                <td class={`number ${numbers.errors > 0 ? 'bad-text' : ''}`}>{formatCount(numbers.errors)}</td>
                <td class="number">{formatDuration(numbers.p50_ms)}</td>
                <td class="number">{formatDuration(numbers.p95_ms)}</td>
                <td class="number">{formatCount(numbers.input_tokens)}</td>
                <td class="number">{formatCount(numbers.output_tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
