import { useEffect, useRef, useState } from 'preact/hooks'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import type { Column } from '../responses/column.ts'
import type { RunningAnswer } from './answer.ts'
import { AnswerView } from './answer-view.tsx'
import { columnTitle } from './column-title.ts'
import { markDifferences } from './mark-differences.ts'
import { SentFiles } from './sent-files.tsx'
import type { Turn, TurnAnswer } from './threads.ts'

interface TurnViewProps {
  readonly turn: Turn
  readonly columns: readonly Column[]
  readonly onStatus: (responseId: string, status: RunningAnswer['status']) => void
  readonly onContinue: (responseId: string, nextId: string) => void
  readonly onRetry: () => void
  readonly onEdit: () => void
}

/** A question, and below it an answer of every column. */
export function TurnView({ turn, columns: current, onStatus, onContinue, onRetry, onEdit }: TurnViewProps) {
  const answers = useRef<HTMLDivElement>(null)
  const { columns = current } = turn
  const [length, setLength] = useState(0)
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  const follow = (responseId: string, { text, status }: RunningAnswer) => {
    setLength((before) => Math.max(before, text.length))
    if (status !== 'running') setEnded((before) => (before.has(responseId) ? before : new Set([...before, responseId])))
    onStatus(responseId, status)
  }
  const areAllEnded = turn.answers.every(({ responseIds }) => responseIds.every((id) => ended.has(id)))
  useEffect(() => {
    if (columns.length < 2 || !areAllEnded) return
    return markDifferences(
      [...(answers.current?.children ?? [])].map((article) => article.querySelector('.message-text') ?? article),
    )
  }, [areAllEnded, length, columns.length])
  return (
    <>
      <Question turn={turn} onEdit={onEdit} />
      <div ref={answers} class="answers" data-columns={columns.length}>
        {columns.map((column, index) => (
          <article key={index} class="message assistant">
            <h2>{columns.length > 1 ? columnTitle(column) : 'Agent'}</h2>
            <ColumnAnswer answer={turn.answers[index]} onChange={follow} onContinue={onContinue} onRetry={onRetry} />
          </article>
        ))}
      </div>
    </>
  )
}

function Question({ turn: { question, files, answers }, onEdit }: { turn: Turn; onEdit: () => void }) {
  return (
    <article class="message user">
      <h2>You</h2>
      <div class="message-text">
        {files.length > 0 && (
          <SentFiles names={files} responseId={answers.flatMap(({ responseIds }) => responseIds)[0]} />
        )}
        <p class="pre">{question}</p>
      </div>
      <p class="message-foot">
        <IconButton icon="edit" label="Edit the question" onClick={onEdit} />
      </p>
    </article>
  )
}

interface ColumnAnswerProps {
  readonly answer: TurnAnswer | undefined
  readonly onChange: (responseId: string, answer: RunningAnswer) => void
  readonly onContinue: (responseId: string, nextId: string) => void
  readonly onRetry: () => void
}

function ColumnAnswer({ answer, ...handlers }: ColumnAnswerProps) {
  if (!answer) return null
  const { responseIds, error } = answer
  if (error) return <Notice kind="bad" title={error} />
  return (
    <>
      {responseIds.map((id) => (
        <AnswerView key={id} responseId={id} isLatest={id === responseIds.at(-1)} {...handlers} />
      ))}
    </>
  )
}
