import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { MarkedTexts } from '../compare/marked-texts.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { TableHead } from '../components/table-head.tsx'
import { formatCost, formatTokens } from '../format.ts'
import { href } from '../router.ts'
import { type EvalResult, type EvalRun, toText, useCase } from './eval-query.ts'
import { formatScore } from './scores.ts'

interface CasePanelProps {
  readonly result: EvalResult
  readonly caseId: string
  readonly column: number
  readonly onClose: () => void
}

/** A case with one agent: its answers now and before, and what the scorers say. */
export function CasePanel({ result: { file, columns }, caseId, column, onClose }: CasePanelProps) {
  const { found, error } = useCase(file, caseId)
  const cell = found?.cells[column]
  const count = Math.max(cell?.runs.length ?? 0, cell?.runs_before.length ?? 0)
  return (
    <aside class="panel side case-panel" aria-label="Selected case" tabIndex={0}>
      <div class="panel-head">
        <h2>{cleanText(caseId)}</h2>
        <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
      </div>
      {error && <Notice kind="bad" title={error} />}
      {found && (
        <>
          <p class="facts dotted muted">
            <span>{cleanText(columns[column]?.name ?? '')}</span>
            <code>
              {cleanText(found.file)}:{found.line}
            </code>
          </p>
          <h3>Question</h3>
          <pre class="compare-text" tabIndex={0}>
            {toText(found.input)}
          </pre>
          {found.expected !== null && (
            <>
              <h3>Expected</h3>
              <pre class="compare-text" tabIndex={0}>
                {toText(found.expected)}
              </pre>
            </>
          )}
          {Array.from({ length: count }, (_, index) => (
            <Answers
              key={index}
              title={count === 1 ? 'Answer' : `Answer ${index + 1}`}
              now={cell?.runs[index]}
              before={cell?.runs_before[index]}
            />
          ))}
        </>
      )}
    </aside>
  )
}

interface AnswersProps {
  readonly title: string
  readonly now: EvalRun | undefined
  readonly before: EvalRun | undefined
}

function Answers({ title, now, before }: AnswersProps) {
  const [left, right] = [before?.run_id, now?.run_id]
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <p class="facts dotted muted">
        {right && <a href={href(['runs', right])}>Open the run</a>}
        {left && <a href={href(['runs', left])}>Open the run before</a>}
        {left && right && <a href={href(['compare'], { left, right })}>Compare their calls</a>}
        {now && <span>{formatDuration(now.duration_ms)}</span>}
        {now && formatTokens(now) && <span>{formatTokens(now)} tokens</span>}
        {now && formatCost(now.cost) && <span>{formatCost(now.cost)}</span>}
      </p>
      <div class="answers" data-count={now && before ? 2 : 1}>
        <MarkedTexts labels={['Before', 'Now']} one={before && answerOf(before)} other={now && answerOf(now)} />
      </div>
      {now && <Scores run={now} before={before} />}
    </section>
  )
}

/** Answer of a run, its calls of tools, and why it ended otherwise. */
function answerOf({ status, output, error, tools }: EvalRun): string {
  const calls = tools.map((tool) => `${tool.name} ${JSON.stringify(tool.arguments ?? {})}`)
  const end = status === 'completed' ? '' : `${status}${error ? `: ${error}` : ''}`
  return [...calls, output, end].filter(Boolean).join('\n')
}

function Scores({ run, before }: { run: EvalRun; before: EvalRun | undefined }) {
  if (run.scores.length === 0) return null
  const earlier = new Map(before?.scores.map(({ name, score }) => [name, score]))
  return (
    <table class="case-scores">
      <TableHead names={['Scorer', ...(before ? ['Before'] : []), 'Score', 'Why']} figures={['Before', 'Score']} />
      <tbody>
        {run.scores.map(({ name, score, error, metadata }) => (
          <tr key={name}>
            <th scope="row">{cleanText(name)}</th>
            {before && <td class="number">{formatScore(earlier.get(name) ?? null)}</td>}
            <td class="number">{formatScore(score)}</td>
            <td>{error ? <span class="bad-text">{cleanText(error)}</span> : describe(metadata)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function describe(metadata: Readonly<Record<string, unknown>> = {}): string {
  const { reason, ...rest } = metadata
  const others = Object.entries(rest).map(([name, value]) => `${cleanText(name)}: ${toText(value)}`)
  return [...(reason === undefined ? [] : [toText(reason)]), ...others].join(' · ')
}
