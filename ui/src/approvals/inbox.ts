import { useEffect, useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { useLive, useThrottled } from '../live.ts'
import { RefusedRequest, readKey, requestCompat } from '../responses/responses-client.ts'
import type { ServerInfo } from '../types.ts'

const ADAPTER = 'ResponsesCompatApiAdapter'
const REFRESH_MS = 4000

interface Inbox {
  /** True where the server has an inbox, and lets the page see it. */
  readonly isOffered: boolean
  /** The oldest first. */
  readonly open: readonly Approval[]
  readonly hasMore: boolean
}

const NO_INBOX: Inbox = { isOffered: false, open: [], hasMore: false }
let inbox = NO_INBOX
const watchers = new Set<(inbox: Inbox) => void>()

/** Inbox as it was read last; `useInboxUpdates` reads it. */
export function useInbox(): Inbox {
  const [state, setState] = useState(inbox)
  useEffect(() => {
    setState(inbox)
    watchers.add(setState)
    return () => watchers.delete(setState)
  }, [])
  return state
}

/** Reads the inbox, and again every few seconds while the page is seen. */
export function useInboxUpdates(server: ServerInfo | undefined): void {
  const mayAsk = () =>
    server?.adapters.includes(ADAPTER) && (!server.adapters_with_key.includes(ADAPTER) || readKey() !== '')
  const refresh = () => void (mayAsk() && refreshInbox())
  const refreshSoon = useThrottled(refresh, 150)
  useLive('runs', (runs) => runs.some(({ status }) => status === 'waiting') && refreshSoon())
  useEffect(() => {
    const refreshSeen = () => void (!document.hidden && refresh())
    refreshSeen()
    const timer = setInterval(refreshSeen, REFRESH_MS)
    document.addEventListener('visibilitychange', refreshSeen)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refreshSeen)
    }
  }, [server])
}

async function refreshInbox(): Promise<void> {
  try {
    const response = await requestCompat('/approvals?order=asc&limit=100')
    const { data, has_more } = (await response.json()) as { data: Approval[]; has_more: boolean }
    publish({ isOffered: true, open: data, hasMore: has_more })
  } catch (failure) {
    // While the server is down, the last state stays.
    if (failure instanceof RefusedRequest && [401, 403, 404].includes(failure.status)) publish(NO_INBOX)
  }
}

/** Reads the latest approvals, decided ones too. */
export async function readApprovals(): Promise<readonly Approval[]> {
  const response = await requestCompat('/approvals?status=all&limit=100')
  return ((await response.json()) as { data: Approval[] }).data
}

function publish(next: Inbox): void {
  inbox = next
  for (const watcher of watchers) watcher(next)
}

/**
 * Decides an approval. Returns the earlier decision of one already decided.
 *
 * @throws Error that says why the decision does not fit
 */
export async function decide(id: string, decision: ApprovalDecision): Promise<Approval> {
  const path = `/approvals/${encodeURIComponent(id)}`
  const response = await requestCompat(path, { method: 'POST', body: JSON.stringify(decision) }).catch(
    (failure: unknown) => {
      if (failure instanceof RefusedRequest && failure.status === 409) return requestCompat(path)
      throw failure
    },
  )
  const decided = (await response.json()) as Approval
  void refreshInbox()
  return decided
}
