import { formatDuration } from '../../../src/wire/format-duration.ts'
import { TableHead } from '../components/table-head.tsx'
import { formatCost, formatCount } from '../format.ts'
import type { Numbers } from '../types.ts'

export interface NumbersRow {
  readonly name: string
  readonly link: string
  readonly numbers: Numbers
}

interface NumbersTableProps {
  readonly title: string
  readonly first: string
  readonly what: string
  readonly rows: readonly NumbersRow[]
}

/** Numbers side by side. */
export function NumbersTable({ title, first, what, rows }: NumbersTableProps) {
  if (rows.length === 0) return null
  const hasCost = rows.some(({ numbers }) => numbers.cost !== null)
  const hasTokens = rows.some(({ numbers }) => numbers.input_tokens + numbers.output_tokens > 0)
  const hasRejected = rows.some(({ numbers }) => numbers.rejected > 0)
  const optional = [...(hasTokens ? ['Tokens in', 'Tokens out'] : []), ...(hasCost ? ['Cost'] : [])]
  const columns = [
    what,
    what === 'Runs' ? 'Failed' : 'Errors',
    ...(hasRejected ? ['Rejected'] : []),
    'p50',
    'p95',
    ...optional,
  ]
  return (
    <section class="panel">
      <h2>{title}</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label={title}>
        <table>
          <TableHead names={[first, ...columns]} figures={columns} />
          <tbody>
            {rows.map(({ name, link, numbers }) => (
              <tr key={name}>
                <th scope="row">
                  <a href={link}>{name}</a>
                </th>
                <td class="number">{formatCount(numbers.count)}</td>
                <td class={`number ${numbers.errors > 0 ? 'bad-text' : ''}`}>{formatCount(numbers.errors)}</td>
                {hasRejected && <td class="number">{formatCount(numbers.rejected)}</td>}
                <td class="number">{formatDuration(numbers.p50_ms)}</td>
                <td class="number">{formatDuration(numbers.p95_ms)}</td>
                {hasTokens && <td class="number">{tokensOf(numbers, numbers.input_tokens)}</td>}
                {hasTokens && <td class="number">{tokensOf(numbers, numbers.output_tokens)}</td>}
                {hasCost && <td class="number">{numbers.cost === null ? '–' : formatCost(numbers.cost)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** Nothing for a row that counts no tokens at all. */
function tokensOf({ input_tokens, output_tokens }: Numbers, tokens: number): string {
  return input_tokens + output_tokens === 0 ? '–' : formatCount(tokens)
}

/** Rows with the most first. */
export function byCount(rows: readonly NumbersRow[]): NumbersRow[] {
  return [...rows].sort((one, other) => other.numbers.count - one.numbers.count)
}
