import { useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { decide } from '../inbox.ts'
import { useApprovalContexts } from './approval-context.ts'
import { ApprovalRow, type OpenForm } from './approval-row.tsx'

interface PendingApprovalProps {
  readonly approval: Approval
  /** True on the page of a run that waits: there is nothing to link to. */
  readonly isOfShownRun?: boolean
  /** True where the question of the user stands elsewhere. */
  readonly isBesideQuestion: boolean
  readonly onDecided: (approval: Approval) => unknown
}

/** One approval that is decided where its run is shown. */
export function PendingApproval({ approval, isBesideQuestion, onDecided, ...place }: PendingApprovalProps) {
  const [form, setForm] = useState<OpenForm>()
  const [problem, setProblem] = useState('')
  const context = useApprovalContexts([approval]).get(approval.id)
  const send = async (decision: ApprovalDecision) => {
    setProblem('')
    try {
      await onDecided(await decide(approval.id, decision))
      setForm(undefined)
    } catch (failure) {
      setProblem((failure as Error).message)
    }
  }
  return (
    <ApprovalRow
      approval={approval}
      context={context && isBesideQuestion ? { ...context, question: '' } : context}
      isCurrent={false}
      form={form}
      problem={problem}
      onCurrent={() => {}}
      onForm={setForm}
      onDecide={send}
      {...place}
    />
  )
}
