import { useState } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { TableHead } from '../components/table-head.tsx'
import { excerpt, plural } from '../format.ts'
import { useListKeys } from '../keyboard.ts'
import { href } from '../router.ts'
import { type EvalCase, type EvalCell, type EvalResult, toText } from './eval-query.ts'
import { formatChange, formatScore } from './scores.ts'

/** Rows that are shown at once. */
const PAGE = 200
const MAX_INPUT_CHARS = 160

const CHANGES: Readonly<Record<EvalCell['change'], string>> = {
  broken: 'fails now',
  worse: 'worse',
  mended: 'passes now',
  better: 'better',
  new: 'new',
  same: '',
}

interface EvalTableProps {
  readonly result: EvalResult
  readonly selected: string | undefined
  readonly column: number
}

/** Cases and columns, what changed first. */
export function EvalTable({ result, selected, column }: EvalTableProps) {
  const [count, setCount] = useState(PAGE)
  useListKeys('.eval-cell')
  const { file, columns, cases, before } = result
  return (
    <section class="panel eval-table" aria-label="Cases" tabIndex={0}>
      <table>
        <TableHead names={['Case', ...columns.map(({ name }) => cleanText(name))]} />
        <tbody>
          {cases.slice(0, count).map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <CaseName row={row} />
              </th>
              {row.cells.map((cell, index) => (
                <td key={columns[index]?.name}>
                  {cell ? (
                    <Cell
                      cell={cell}
                      isFirst={before === null}
                      name={cleanText(`${row.id}, ${columns[index]?.name}`)}
                      address={href(['evals'], { file, case: row.id, column: String(index) })}
                      isSelected={row.id === selected && index === column}
                    />
                  ) : (
                    <span class="muted">not run</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {cases.length > count && (
        <button type="button" class="button" onClick={() => setCount(cases.length)}>
          Show the other {plural(cases.length - count, 'case')}
        </button>
      )}
    </section>
  )
}

function CaseName({ row: { id, input, tags } }: { row: EvalCase }) {
  return (
    <>
      <span class="eval-id">{cleanText(id)}</span>
      {tags.map((tag) => (
        <span key={tag} class="badge">
          {cleanText(tag)}
        </span>
      ))}
      <span class="eval-input">{excerpt(toText(input)).slice(0, MAX_INPUT_CHARS)}</span>
    </>
  )
}

interface CellProps {
  readonly cell: EvalCell
  /** There is no result before, in which a case could have been. */
  readonly isFirst: boolean
  readonly name: string
  readonly address: string
  readonly isSelected: boolean
}

/** Score of a case: as a figure, a mark and a colour. */
function Cell({
  cell: { score, passes, score_before: before, change },
  isFirst,
  name,
  address,
  isSelected,
}: CellProps) {
  const state = passes === null ? 'none' : passes ? 'pass' : 'fail'
  const verdict = { none: 'not judged', pass: 'passed', fail: 'failed' }[state]
  const difference = score !== null && before !== null && change !== 'same' ? formatChange(score - before) : ''
  const news = isFirst ? '' : `${CHANGES[change]} ${difference}`.trim()
  return (
    <a
      class="eval-cell"
      href={address}
      data-state={state}
      data-change={change}
      aria-current={isSelected ? 'true' : undefined}
      aria-label={`${name}: ${[formatScore(score), news].filter(Boolean).join(' ')}, ${verdict}`}
      title={verdict}
    >
      <span aria-hidden="true">{{ none: '·', pass: '✓', fail: '✕' }[state]}</span>
      <b>{formatScore(score)}</b> {news && <small>{news}</small>}
    </a>
  )
}
