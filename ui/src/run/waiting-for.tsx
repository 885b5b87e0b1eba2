import { useState } from 'preact/hooks'
import type { CallTree } from '../../../src/trace/calls/call-tree.ts'
import type { Approval } from '../../../src/wire/approval.ts'
import { PendingApproval } from '../approvals/pending-approval.tsx'
import { Notice } from '../components/notice.tsx'
import { useInbox } from '../inbox.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { href } from '../router.ts'
import type { RunSummary } from '../types.ts'
import { nameCall } from './trace-rows.ts'

/** Calls that a run waits for, with the buttons that decide them, and the runs before and after it. */
export function WaitingFor({ run, tree }: { run: RunSummary; tree: CallTree }) {
  const open = useInbox().open.filter(
    ({ response_id, run_id }) => runIdOf(response_id) === run.run_id || run_id === run.run_id,
  )
  const [decided, setDecided] = useState<ReadonlyMap<string, Approval>>(new Map())
  const shown = [...open.filter(({ id }) => !decided.has(id)), ...(run.status === 'waiting' ? decided.values() : [])]
  return (
    <>
      {shown.length > 0 && (
        <ul class="approvals compact" aria-label="Waits for a person">
          {shown.map((approval) => (
            <PendingApproval
              key={approval.id}
              approval={approval}
              isOfShownRun
              isBesideQuestion={runIdOf(approval.response_id) === run.run_id}
              onDecided={(made) => setDecided((before) => new Map(before).set(made.id, made))}
            />
          ))}
        </ul>
      )}
      {run.status === 'handed_to_client' && <HandedOver tree={tree} />}
      <Links run={run} />
    </>
  )
}

/** Tools whose output the client is to send. */
function HandedOver({ tree }: { tree: CallTree }) {
  const calls = tree.calls.filter(({ kind, status }) => kind === 'tool' && status === 'waiting')
  if (calls.length === 0) return null
  return (
    <Notice kind="info" title="Waits for its client">
      It is to send the output of {calls.map((call) => nameCall(call).name).join(', ')}.
    </Notice>
  )
}

/** The other runs of a conversation that waited in between. */
function Links({ run: { continues, continued_by: next } }: { run: RunSummary }) {
  if (continues === null && next === null) return null
  return (
    <p class="facts dotted">
      {continues !== null && <a href={href(['runs', continues])}>Continues a run that waited</a>}
      {next !== null && <a href={href(['runs', next])}>Continued by another run</a>}
    </p>
  )
}
