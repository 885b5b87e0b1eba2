import { useEffect, useRef, useState } from 'preact/hooks'
import type { Approval } from '../../../src/wire/approval.ts'
import { PendingApproval } from '../approvals/pending-approval.tsx'
import { readApprovals, useInbox } from '../inbox.ts'

interface PendingDecisionsProps {
  readonly responseId: string
  /** The run continues as this response. */
  readonly onContinue: (responseId: string) => void
}

/** Approvals that an answer waits for, to decide in place. */
export function PendingDecisions({ responseId, onContinue }: PendingDecisionsProps) {
  const { open } = useInbox()
  const [approvals, setApprovals] = useState<readonly Approval[]>([])
  const openIds = open.map(({ id }) => id).join()
  const read = () =>
    readApprovals().then(
      (all) => setApprovals(all.filter(({ response_id }) => response_id === responseId)),
      // The inbox shows the error.
      () => {},
    )
  useEffect(() => void read(), [responseId, openIds])
  const next = approvals.find(({ continued_by }) => continued_by !== null)?.continued_by
  useEffect(() => void (next && onContinue(next)), [next])
  const list = useRef<HTMLUListElement>(null)
  // Also for a reader who has scrolled up: nothing goes on without them.
  useEffect(() => list.current?.scrollIntoView({ block: 'nearest' }), [approvals.length])
  if (next) return null
  return (
    <ul class="approvals" ref={list} aria-label="Waits for you">
      {approvals.map((approval) => (
        <PendingApproval key={approval.id} approval={approval} isBesideQuestion onDecided={read} />
      ))}
    </ul>
  )
}
