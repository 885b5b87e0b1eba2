import { useEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Notice } from '../components/notice.tsx'
import { href } from '../router.ts'
import { type Answer, useAnswer } from './answer.ts'
import { runIdOf } from './responses.ts'
import type { Turn } from './threads.ts'
import { ToolCalls } from './tool-calls.tsx'

interface TurnViewProps {
  readonly turn: Turn
  readonly isLast: boolean
  readonly onStatus: (responseId: string, status: Answer['status']) => void
  readonly onRetry: () => void
  readonly onEdit: () => void
}

/** A question and its answer, which is followed wherever it is. */
export function TurnView({ turn, isLast, onStatus, onRetry, onEdit }: TurnViewProps) {
  const { responseId, question } = turn
  const answer = useAnswer(responseId)
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => onStatus(responseId, answer.status), [responseId, answer.status])
  useEffect(() => void (isLast && end.current?.scrollIntoView({ block: 'end' })), [answer.text.length, isLast])
  return (
    <>
      <article class="message user">
        <h2>You</h2>
        <p class="message-text">{question}</p>
        <p class="message-foot">
          <IconButton icon="edit" label="Edit the question" onClick={onEdit} />
        </p>
      </article>
      <article class="message assistant">
        <h2>Agent</h2>
        <ToolCalls runId={runIdOf(responseId)} />
        {answer.text !== '' && (
          <div class="message-text">
            <Markdown text={answer.text} />
          </div>
        )}
        {answer.status === 'running' && <span class="typing" role="status" aria-label="The agent answers" />}
        {answer.status === 'failed' && <Notice kind="bad" title={answer.error || 'The agent failed.'} />}
        {answer.status === 'cancelled' && <p class="muted">Stopped</p>}
        <p class="message-foot">
          <a href={href(['runs', runIdOf(responseId)])}>See the run</a>
          {answer.text !== '' && <CopyButton isQuiet text={answer.text} label="Copy the answer" />}
          {answer.status !== 'running' && <IconButton icon="loop" label="Retry" onClick={onRetry} />}
        </p>
        <div ref={end} />
      </article>
    </>
  )
}
