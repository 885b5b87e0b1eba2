import { useState } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import type { QuestionNews } from '../../../src/wire/question.ts'
import { Chart, type Series } from '../components/chart.tsx'
import { Command } from '../components/command.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { formatCost, formatTime, plural } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { AskButton } from '../questions/ask-button.tsx'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import '../styles/evals.css'
import { CasePanel } from './case-panel.tsx'
import { type EvalResult, type EvalSummary, useEvals } from './eval-query.ts'
import { EvalTable } from './eval-table.tsx'
import { formatChange, formatScore } from './scores.ts'

/** Results of evals: cases and agents, what changed since the result before first. */
export function EvalsScreen({ route: { query } }: ScreenProps) {
  const [state, setState] = useState<QuestionNews['state']>()
  const { data, error } = useEvals(query.file ?? '', state)
  const show = (changed: Record<string, string>) => go(href(['evals'], { ...query, ...changed }), { replace: true })
  useShortcuts({ Escape: () => show({ case: '', column: '' }) })
  if (!data) return error ? <Notice kind="bad" title="The results could not be read" children={error} /> : null
  const { results, case_files: files } = data.evals
  const result = data.eval_result
  const selected = query.case
  return (
    <div class="screen fill evals">
      <div class="screen-head">
        <h1>Evals</h1>
        {result && (
          <ResultChoice results={results} file={result.file} onChange={(file) => go(href(['evals'], { file }))} />
        )}
        {files.length > 0 && (
          <AskButton
            label="Run evals"
            request={{ action: 'run_evals' }}
            onState={(news) => {
              setState(news)
              if (news === 'started') go(href(['evals']))
            }}
          />
        )}
      </div>
      {error && <Notice kind="bad" title={error} />}
      {results
        .filter(({ problem }) => problem !== null)
        .map(({ file, problem }) => (
          <Notice key={file} kind="warn" title={`${file} is left out`}>
            {problem}
          </Notice>
        ))}
      {result ? (
        <>
          <Summary result={result} results={results} onFile={(file) => go(href(['evals'], { file }))} />
          <SplitPane
            name="evals"
            side={
              selected && (
                <CasePanel
                  key={`${result.file} ${selected} ${query.column}`}
                  result={result}
                  caseId={selected}
                  column={Number(query.column ?? 0)}
                  onClose={() => show({ case: '', column: '' })}
                />
              )
            }
          >
            <EvalTable result={result} selected={selected} column={Number(query.column ?? 0)} />
          </SplitPane>
        </>
      ) : query.file ? (
        <Empty title={`There is no result ${query.file}`}>
          <a href={href(['evals'])}>The latest result</a>
        </Empty>
      ) : (
        <FirstSteps files={files} />
      )}
    </div>
  )
}

const EXAMPLE = '{"id": "greeting", "input": "Hello!", "expected": "Hello"}'

function FirstSteps({ files }: { files: readonly string[] }) {
  return (
    <Empty title="There are no results yet">
      {files.length === 0 && (
        <>
          <p>A case is a line of evals/cases.jsonl:</p>
          <Command text={EXAMPLE} />
          <p>
            A recorded run becomes one with <b>Save as test</b> on its page, or with the thumb down in the playground.
          </p>
        </>
      )}
      <p>{files.length === 0 ? 'Then run them:' : `Run the cases of ${files.join(', ')}:`}</p>
      <Command text="agent-host eval" />
    </Empty>
  )
}

interface ResultChoiceProps {
  readonly results: readonly EvalSummary[]
  readonly file: string
  readonly onChange: (file: string) => void
}

function ResultChoice({ results, file, onChange }: ResultChoiceProps) {
  return (
    <label class="field">
      <span class="hidden">Result</span>
      <select value={file} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {results.map((each) => (
          <option key={each.file} value={each.file} disabled={each.problem !== null}>
            {each.created_at === null
              ? `${each.file}: cannot be read`
              : `${cleanText(each.name ?? '')}, ${formatTime(each.created_at)}`}
          </option>
        ))}
      </select>
    </label>
  )
}

interface SummaryProps {
  readonly result: EvalResult
  readonly results: readonly EvalSummary[]
  readonly onFile: (file: string) => void
}

/** Numbers of each agent and variant, and the scores of earlier results. */
function Summary({ result, results, onFile }: SummaryProps) {
  const { name, status, before, spent, duration_ms: ms, columns, problems, path } = result
  const isPart = results.find(({ file }) => file === result.file)?.is_part ?? false
  const isSame =
    before !== null && result.cases.every(({ cells }) => cells.every((cell) => !cell || cell.change === 'same'))
  return (
    <div class="eval-summary">
      <section aria-label="Agents and variants" class="eval-columns">
        <p class="facts dotted muted">
          <span>{status === 'complete' ? formatDuration(ms) : status}</span>
          {spent > 0 && <span>{formatCost(spent)}</span>}
          <span>
            {before ? (
              <>
                changes since <a href={href(['evals'], { file: before.file })}>{formatTime(before.created_at)}</a>
              </>
            ) : (
              'the first result of this name'
            )}
          </span>
          {isSame && <span>No case changed.</span>}
          {isPart && <span>a part of the cases</span>}
          <a href={href(['runs'], { evals: 'true' })}>runs of evals</a>
        </p>
        <code class="eval-path">{path}</code>
        {columns.map((column) => (
          <div key={column.name}>
            <p class="eval-column">
              <b>{cleanText(column.name)}</b>
            </p>
            <p class="facts dotted">
              <span>
                score {formatScore(column.score)}
                {hasChanged(column.difference) && ` (${formatChange(column.difference)})`}
              </span>
              <span>
                {column.passed} of {plural(column.passed + column.failed, 'case')} passed
                {column.unscored > 0 && `, ${column.unscored} not judged`}
              </span>
              {column.cost !== null && column.cost > 0 && <span>{formatCost(column.cost)}</span>}
            </p>
            {column.confidence && <p class="muted">{column.confidence.replaceAll(/-(?=\d)/g, '−')}</p>}
          </div>
        ))}
        {problems.map(({ where, message }) => (
          <Notice key={where + message} kind="warn" title={`${where} is left out`}>
            {message}
          </Notice>
        ))}
      </section>
      <ScoreChart
        results={results.filter((each) => each.name === name && each.is_part === isPart)}
        columns={columns}
        onFile={onFile}
      />
    </div>
  )
}

/** Tells whether a difference is one with two digits. */
function hasChanged(difference: number | null): difference is number {
  return difference !== null && Math.abs(difference) >= 0.005
}

const COLORS: readonly Series['color'][] = ['accent', 'warn', 'good', 'bad']

interface ScoreChartProps {
  /** Newest first. */
  readonly results: readonly EvalSummary[]
  readonly columns: EvalResult['columns']
  readonly onFile: (file: string) => void
}

/** Scores over the results of a name: of as many columns as there are colours. */
function ScoreChart({ results, columns, onFile }: ScoreChartProps) {
  if (results.length < 2) return null
  const shown = results.toReversed()
  return (
    <Chart
      title={columns.length > COLORS.length ? `Score of the first ${COLORS.length} of ${columns.length}` : 'Score'}
      times={shown.map(({ created_at: time }) => time ?? 0)}
      format={(score) => score.toFixed(2)}
      onPoint={(index) => shown[index] && onFile(shown[index].file)}
      series={columns.slice(0, COLORS.length).map(({ name }, index) => ({
        name: cleanText(name),
        color: COLORS[index] ?? 'accent',
        values: shown.map((each) => each.columns.find((column) => column.name === name)?.score ?? null),
      }))}
    />
  )
}
