import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { cleanText, cleanToDecide } from '../../../src/wire/clean-text.ts'
import { nameAsker } from '../../../src/wire/name-asker.ts'
import { Boundary } from '../components/boundary.tsx'
import { Notice } from '../components/notice.tsx'
import { formatAgo, formatTime } from '../format.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { href } from '../router.ts'
import type { ApprovalContext } from './approval-context.ts'
import { AnswerForm, EditForm, RejectForm } from './decision-forms.tsx'

export type OpenForm = 'edit' | 'reject'

interface ApprovalRowProps {
  readonly approval: Approval
  readonly isCurrent: boolean
  /** True on the page of the run that waits, which shows the rest. */
  readonly isOfShownRun?: boolean
  /** Its circumstances; undefined where that is seen beside it, or not known. */
  readonly context?: ApprovalContext | undefined
  readonly form: OpenForm | undefined
  readonly problem: string
  /** Chosen to be decided together with others. */
  readonly isMarked?: boolean
  /** Left out where there is one alone. */
  readonly onMark?: () => void
  readonly onCurrent: () => void
  readonly onForm: (form: OpenForm | undefined) => void
  /** Sends the decision. Until that has ended, the row takes no other. */
  readonly onDecide: (decision: ApprovalDecision) => Promise<void>
}

/** One approval, whose faults leave the others as they are. */
export function ApprovalRow(props: ApprovalRowProps) {
  const { approval } = props
  return (
    <Boundary of={approval} instead={() => <FailedRow {...approval} />}>
      <Row {...props} />
    </Boundary>
  )
}

function FailedRow({ id, kind }: Approval) {
  const decision = kind === 'question' ? `answer ${id} <answer>` : `approve ${id}`
  return (
    <li class="panel approval">
      <Notice kind="bad" title={`The ${kind} ${id} cannot be shown.`}>
        Decide it at a terminal: <code>agent-host approvals {decision}</code>
      </Notice>
    </li>
  )
}

/** Agent, call and age, with the buttons or the decision. */
function Row(props: ApprovalRowProps) {
  const { approval, isCurrent, isOfShownRun = false, isMarked = false, context, problem, onMark, onCurrent } = props
  const { id, kind, name, message, response_id, created_at, expires_at } = approval
  const agent = nameAsker({ agent: approval.agent, askedBy: approval.asked_by })
  const title = cleanText(kind === 'question' ? withoutAddress(approval) : `May ${agent} call ${name}?`)
  return (
    <li class="panel approval" data-id={id} aria-current={isCurrent ? 'true' : undefined} onFocusCapture={onCurrent}>
      <div class="approval-head">
        {onMark && kind === 'approval' && approval.status === 'pending' && (
          <input
            type="checkbox"
            title="Choose (x)"
            aria-label={`Choose: ${title}`}
            checked={isMarked}
            onChange={onMark}
          />
        )}
        <h2>
          {isOfShownRun ? (
            title
          ) : (
            <a class="approval-name" href={href(['runs', runIdOf(response_id)])}>
              {title}
            </a>
          )}
        </h2>
        <span class="muted">
          {kind === 'question' && `${cleanText(name)} of ${agent} asks · `}
          <time dateTime={new Date(created_at * 1000).toISOString()}>{formatAgo(created_at)}</time>
          {expires_at !== null && ` · until ${formatTime(expires_at)}`}
        </span>
      </div>
      <div class="approval-body">
        {context && <Context context={context} agent={approval.agent} />}
        <div>
          {kind === 'approval' && message && <p class="muted">{cleanText(message)}</p>}
          <Arguments values={approval.edited_arguments ?? approval.arguments} />
        </div>
      </div>
      {approval.status === 'pending' ? <Choice {...props} /> : <Outcome approval={approval} />}
      {problem && <Notice kind="bad" title={problem} />}
    </li>
  )
}

/** The question as a heading: its address is a button. */
function withoutAddress({ message, url }: Approval): string {
  const text = message ?? ''
  return url === null ? text : text.replace(url, '').replace(/[:\s]+$/, '')
}

/** The question of the user, what the agent said before the call, and what the tool does. */
function Context({ context, agent }: { context: ApprovalContext; agent: string }) {
  const { user, question, said, description } = context
  if (question === '' && said === '' && description === '') return null
  return (
    <dl class="approval-context">
      {question && (
        <>
          <dt>Asked by {cleanText(user) || 'the user'}</dt>
          <dd class="quote">{cleanText(question)}</dd>
        </>
      )}
      {said && (
        <>
          <dt>{agent} said</dt>
          <dd>{cleanText(said)}</dd>
        </>
      )}
      {description && (
        <>
          <dt>The tool</dt>
          <dd>{cleanText(description)}</dd>
        </>
      )}
    </dl>
  )
}

function Arguments({ values }: { values: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(values)
  if (entries.length === 0) return <p class="muted">Without arguments.</p>
  return (
    <dl class="facts-list approval-arguments">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{cleanToDecide(name)}</dt>
          <dd>{cleanToDecide(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** Time in which an approval can be undone. */
const HOLD_MS = 3000
const HELD = 'held-approvals'

function readHeld(): readonly string[] {
  return JSON.parse(sessionStorage.getItem(HELD) ?? '[]') as string[]
}

function noteHeld(id: string): void {
  sessionStorage.setItem(HELD, JSON.stringify([...readHeld(), id]))
}

/** Tells whether the page was left while an approval could be undone, once. */
function takeLeft(id: string): boolean {
  const held = readHeld()
  if (!held.includes(id)) return false
  sessionStorage.setItem(HELD, JSON.stringify(held.filter((each) => each !== id)))
  return true
}

function Choice(props: ApprovalRowProps) {
  const { id } = props.approval
  const [isSending, setSending] = useState(false)
  const [held, setHeld] = useState<ApprovalDecision>()
  const [wasLeft] = useState(() => takeLeft(id))
  const send = async (decision: ApprovalDecision) => {
    setSending(true)
    await props.onDecide(decision)
    setSending(false)
  }
  useEffect(() => {
    if (!held) return
    noteHeld(id)
    const timer = setTimeout(() => {
      takeLeft(id)
      setHeld(undefined)
      void send(held)
    }, HOLD_MS)
    // Leaving the page sends nothing.
    return () => clearTimeout(timer)
  }, [held])
  const undo = () => {
    takeLeft(id)
    setHeld(undefined)
  }
  const isYes = ({ decision }: ApprovalDecision) => decision === 'approve' || decision === 'edit'
  const onDecide = async (decision: ApprovalDecision) => (isYes(decision) ? setHeld(decision) : send(decision))
  return (
    <>
      {held && (
        <p class="approval-outcome" role="status">
          <span class="badge good">Approved</span>
          <span class="muted">Sent in {HOLD_MS / 1000} s.</span>
          <button type="button" class="button" onClick={undo}>
            Undo
          </button>
        </p>
      )}
      {wasLeft && !held && (
        <Notice kind="warn" title="The approval was not sent: the page was left too soon. The call still waits." />
      )}
      <fieldset
        class="approval-choice"
        disabled={isSending || held !== undefined}
        aria-busy={isSending}
        data-held={held !== undefined}
      >
        <Choices {...props} onDecide={onDecide} />
      </fieldset>
    </>
  )
}

function Choices({ approval, form, onForm, onDecide }: ApprovalRowProps) {
  if (approval.kind === 'question') return <AnswerForm approval={approval} onDecide={onDecide} />
  const onClose = () => onForm(undefined)
  if (form === 'edit') return <EditForm approval={approval} onDecide={onDecide} onClose={onClose} />
  if (form === 'reject') return <RejectForm onDecide={onDecide} onClose={onClose} />
  return (
    <div class="approval-actions">
      <button type="button" class="button primary approve" onClick={() => onDecide({ decision: 'approve' })}>
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

/** Kinds of badges by the status; the others were closed without a decision. */
const BADGES: Readonly<Partial<Record<Approval['status'], string>>> = {
  approved: 'good',
  edited: 'good',
  answered: 'good',
  rejected: 'bad',
}

function Outcome({ approval: { status, decided_at, decided_by, reason, continued_by } }: { approval: Approval }) {
  const kind = BADGES[status]
  return (
    <p class="approval-outcome" role="status">
      <span class={`badge ${kind ?? ''}`}>{status}</span>
      <span class="muted">
        {decided_at !== null && formatTime(decided_at)}
        {decided_by && ` by ${decided_by}`}
      </span>
      {reason && <span>{cleanText(reason)}</span>}
      {continued_by ? (
        <a href={href(['runs', runIdOf(continued_by)])}>View the run</a>
      ) : (
        <span class="muted">{kind ? 'Continues when every decision is made.' : 'Closed without a decision.'}</span>
      )}
    </p>
  )
}
