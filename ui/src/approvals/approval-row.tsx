import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { Notice } from '../components/notice.tsx'
import { formatAgo, formatTime } from '../format.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { href } from '../router.ts'
import { AnswerForm, EditForm, RejectForm } from './decision-forms.tsx'

export type OpenForm = 'edit' | 'reject'

interface ApprovalRowProps {
  readonly approval: Approval
  readonly isCurrent: boolean
  readonly form: OpenForm | undefined
  readonly problem: string
  readonly onCurrent: () => void
  readonly onForm: (form: OpenForm | undefined) => void
  /** Sends the decision. Until that has ended, the row takes no other. */
  readonly onDecide: (decision: ApprovalDecision) => Promise<void>
}

/** One approval: agent, call and age, with its buttons or the decision. */
export function ApprovalRow(props: ApprovalRowProps) {
  const { approval, isCurrent, problem, onCurrent } = props
  const { id, kind, agent, name, message, response_id, created_at, expires_at } = approval
  return (
    <li class="panel approval" data-id={id} aria-current={isCurrent ? 'true' : undefined} onFocusCapture={onCurrent}>
      <div class="approval-head">
        <h2>
          <a class="approval-name" href={href(['runs', runIdOf(response_id)])}>
            {kind === 'question' ? message : `May ${agent} call ${name}?`}
          </a>
        </h2>
        <span class="muted">
          {kind === 'question' && `${name} of ${agent} asks · `}
          <time dateTime={new Date(created_at * 1000).toISOString()}>{formatAgo(created_at)}</time>
          {expires_at !== null && ` · until ${formatTime(expires_at)}`}
        </span>
      </div>
      {kind === 'approval' && message && <p class="muted">{message}</p>}
      <Arguments values={approval.edited_arguments ?? approval.arguments} />
      {approval.status === 'pending' ? <Choice {...props} /> : <Outcome approval={approval} />}
      {problem && <Notice kind="bad" title={problem} />}
    </li>
  )
}

function Arguments({ values }: { values: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(values)
  if (entries.length === 0) return <p class="muted">Without arguments.</p>
  return (
    <dl class="facts-list approval-arguments">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

function Choice(props: ApprovalRowProps) {
  const [isSending, setSending] = useState(false)
  const onDecide = async (decision: ApprovalDecision) => {
    setSending(true)
    await props.onDecide(decision)
    setSending(false)
  }
  return (
    <fieldset class="approval-choice" disabled={isSending} aria-busy={isSending}>
      <Choices {...props} onDecide={onDecide} />
    </fieldset>
  )
}

function Choices({ approval, form, onForm, onDecide }: ApprovalRowProps) {
  if (approval.kind === 'question') return <AnswerForm approval={approval} onDecide={onDecide} />
  const onClose = () => onForm(undefined)
  if (form === 'edit') return <EditForm approval={approval} onDecide={onDecide} onClose={onClose} />
  if (form === 'reject') return <RejectForm onDecide={onDecide} onClose={onClose} />
  return (
    <div class="approval-actions">
      <button type="button" class="button primary" onClick={() => onDecide({ decision: 'approve' })}>
        Approve <kbd>a</kbd>
      </button>
      <button type="button" class="button" onClick={() => onForm('edit')}>
        Edit <kbd>e</kbd>
      </button>
      <button type="button" class="button" onClick={() => onForm('reject')}>
        Reject <kbd>r</kbd>
      </button>
    </div>
  )
}

function Outcome({ approval: { status, decided_at, decided_by, reason, continued_by } }: { approval: Approval }) {
  return (
    <p class="approval-outcome" role="status">
      <span class={`badge ${status === 'rejected' ? 'bad' : 'good'}`}>{status}</span>
      <span class="muted">
        {decided_at !== null && formatTime(decided_at)}
        {decided_by && ` by ${decided_by}`}
      </span>
      {reason && <span>{reason}</span>}
      {continued_by ? (
        <a href={href(['runs', runIdOf(continued_by)])}>See how it went on</a>
      ) : (
        <span class="muted">It goes on once everything that it waits for is decided.</span>
      )}
    </p>
  )
}
