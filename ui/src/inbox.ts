import { type ComponentChildren, createContext, h } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../src/wire/approval.ts'
import { useLive, useThrottled } from './live.ts'
import { onKeySaved, RefusedRequest, readKey, requestCompat } from './responses/responses-client.ts'
import type { ServerInfo } from './types.ts'

const ADAPTER = 'ResponsesCompatApiAdapter'

interface Inbox {
  /** True where the server has an inbox, and lets the page see it. */
  readonly isOffered: boolean
  /** The oldest first. */
  readonly open: readonly Approval[]
  readonly hasMore: boolean
}

const NO_INBOX: Inbox = { isOffered: false, open: [], hasMore: false }
const InboxContext = createContext(NO_INBOX)

interface InboxProviderProps {
  readonly server: ServerInfo | undefined
  readonly children: ComponentChildren
}

/** Keeps the inbox as it is on the server: read once, and again when the live stream says that it has changed. */
export function InboxProvider({ server, children }: InboxProviderProps) {
  const [inbox, setInbox] = useState(NO_INBOX)
  const mayAsk = () =>
    server?.adapters.includes(ADAPTER) && (!server.adapters_with_key.includes(ADAPTER) || readKey() !== '')
  const refresh = async () => {
    if (!mayAsk()) return
    try {
      const response = await requestCompat('/approvals?order=asc&limit=100')
      const { data, has_more } = (await response.json()) as { data: Approval[]; has_more: boolean }
      setInbox({ isOffered: true, open: data, hasMore: has_more })
    } catch (failure) {
      // While the server is down, the last state stays.
      if (failure instanceof RefusedRequest && [401, 403, 404].includes(failure.status)) setInbox(NO_INBOX)
    }
  }
  const refreshSoon = useThrottled(() => void refresh(), 50)
  useLive('approvals', refreshSoon)
  useLive('ready', refreshSoon)
  useEffect(() => void refresh(), [server])
  useEffect(() => onKeySaved(refreshSoon), [])
  return h(InboxContext.Provider, { value: inbox }, children)
}

/** Inbox as it is. */
export function useInbox(): Inbox {
  return useContext(InboxContext)
}

/** Reads the latest approvals, decided ones too. */
export async function readApprovals(): Promise<readonly Approval[]> {
  const response = await requestCompat('/approvals?status=all&limit=100')
  return ((await response.json()) as { data: Approval[] }).data
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
  return (await response.json()) as Approval
}
