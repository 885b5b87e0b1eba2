import { useEffect } from 'preact/hooks'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { CaseButton } from '../cases/case-button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Notice } from '../components/notice.tsx'
import { Pictures } from '../components/pictures.tsx'
import { formatCost, formatTokens } from '../format.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { href } from '../router.ts'
import { hasWaited } from '../types.ts'
import { type RunningAnswer, useAnswer } from './answer.ts'
import { PendingDecisions } from './pending-decisions.tsx'
import { type RunInfo, useRunInfo } from './run-info.ts'
import { ToolCalls } from './tool-calls.tsx'

interface AnswerViewProps {
  readonly responseId: string
  /** Nothing has gone on with it yet. */
  readonly isLatest: boolean
  readonly onChange: (responseId: string, answer: RunningAnswer) => void
  readonly onContinue: (responseId: string, nextId: string) => void
  readonly onRetry: () => void
}

/** One stored response: tools, text and images as they arrive, with duration and tokens. */
export function AnswerView({ responseId, isLatest, onChange, onContinue, onRetry }: AnswerViewProps) {
  const answer = useAnswer(responseId)
  const facts = useRunInfo(runIdOf(responseId))
  useEffect(() => onChange(responseId, answer), [responseId, answer])
  const { text, pictures, status, error } = answer
  return (
    <>
      <ToolCalls events={facts?.events.events ?? []} runStatus={facts?.status} />
      {text !== '' && (
        <div class="message-text">
          <Markdown text={text} />
        </div>
      )}
      <Pictures attachments={pictures.map((data) => ({ mediaType: 'image/png', data, name: 'Picture' }))} />
      {status === 'running' && <span class="typing" role="status" aria-label="The agent answers" />}
      {status === 'failed' && <Notice kind="bad" title={error || 'The agent failed.'} />}
      {status === 'cancelled' && <p class="muted">Stopped</p>}
      {isLatest && hasWaited(facts?.status) && (
        <PendingDecisions responseId={responseId} onContinue={(next) => onContinue(responseId, next)} />
      )}
      <p class="message-foot">
        <Facts facts={facts} />
        <a href={href(['runs', runIdOf(responseId)])}>View the run</a>
        {text !== '' && <CopyButton isQuiet text={text} label="Copy the answer" />}
        {status !== 'running' && <CaseButton runId={runIdOf(responseId)} />}
        {isLatest && status !== 'running' && <IconButton icon="loop" label="Retry" onClick={onRetry} />}
      </p>
    </>
  )
}

function Facts({ facts }: { facts: RunInfo | undefined }) {
  if (!facts || facts.duration_ms === null) return null
  const tokens = formatTokens(facts)
  const parts = [formatDuration(facts.duration_ms), tokens && `${tokens} tokens`, formatCost(facts.cost)]
  return <span class="muted figure-text">{parts.filter((part) => part !== '').join(' · ')}</span>
}
