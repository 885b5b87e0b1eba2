import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Approval, ApprovalDecision } from '../../../src/wire/approval.ts'
import { Command } from '../components/command.tsx'
import { Empty } from '../components/notice.tsx'
import { plural } from '../format.ts'
import { decide, useInbox } from '../inbox.ts'
import { useShortcuts } from '../keyboard.ts'
import type { ScreenProps } from '../screen.ts'
import { useApprovalContexts } from './approval-context.ts'
import { ApprovalRow, type OpenForm } from './approval-row.tsx'

/** Inbox of the calls and questions that wait for a person. */
export function ApprovalsScreen({ route }: ScreenProps) {
  const { isOffered, open } = useInbox()
  const [decided, setDecided] = useState<ReadonlyMap<string, Approval>>(new Map())
  const [problem, setProblem] = useState<{ id: string; text: string }>()
  const list = useRef<HTMLUListElement>(null)
  const rows = [...open.filter(({ id }) => !decided.has(id)), ...decided.values()].sort(byAge)
  const contexts = useApprovalContexts(rows)
  const { current, form, setCurrent, setForm, arm } = useRowKeys(rows, list, route.query.id)
  const send = async (id: string, decision: ApprovalDecision) => {
    setProblem(undefined)
    try {
      const approval = await decide(id, decision)
      setDecided((before) => new Map(before).set(id, approval))
      setForm(undefined)
      const next = rows.find((row) => row.id !== id && row.status === 'pending')
      focusRow(list.current, next?.id ?? id)
    } catch (failure) {
      setProblem({ id, text: (failure as Error).message })
    }
  }
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const chosen = rows.filter(({ id, status }) => marked.has(id) && status === 'pending')
  const mark = (id: string) =>
    setMarked((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  const sendAll = async (decision: ApprovalDecision) => {
    // Each of them can still be undone.
    if (decision.decision === 'approve') for (const { id } of chosen) approve(list.current, id)
    else for (const { id } of chosen) await send(id, decision)
    setMarked(new Set())
  }
  useShortcuts({ x: () => current !== undefined && mark(current) })
  if (rows.length === 0) return <NothingWaits isOffered={isOffered} />
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Approvals</h1>
        <span class="muted" role="status">
          {open.length === 0 ? 'Nothing waits' : `${plural(open.length, 'decision')} to make`}
        </span>
        {chosen.length > 1 && (
          <span class="approval-actions">
            <button type="button" class="button primary" onClick={() => sendAll({ decision: 'approve' })}>
              Approve {chosen.length}
            </button>
            <button type="button" class="button" onClick={() => sendAll({ decision: 'reject' })}>
              Reject {chosen.length}
            </button>
          </span>
        )}
      </div>
      <ul class="approvals" ref={list} aria-label="Approvals" {...arm}>
        {rows.map((approval) => (
          <ApprovalRow
            key={approval.id}
            approval={approval}
            isCurrent={approval.id === current}
            context={contexts.get(approval.id)}
            form={form?.id === approval.id ? form.kind : undefined}
            problem={problem?.id === approval.id ? problem.text : ''}
            isMarked={marked.has(approval.id)}
            onMark={() => mark(approval.id)}
            onCurrent={() => setCurrent(approval.id)}
            onForm={(kind) => setForm(kind && { id: approval.id, kind })}
            onDecide={(decision) => send(approval.id, decision)}
          />
        ))}
      </ul>
    </div>
  )
}

function NothingWaits({ isOffered }: { isOffered: boolean }) {
  return (
    <Empty isPage title={isOffered ? 'Nothing waits for you' : 'No inbox'}>
      {isOffered ? (
        <>
          Calls of tools that need an approval, and questions of tools, appear here until a person decides. In the
          config of <code>tools/local</code> and of other modules with tools, this line makes every call need one:
          <Command text="approval: always" />
        </>
      ) : (
        'It is part of the responses adapter. Where that has a key, the playground asks for it.'
      )}
    </Empty>
  )
}

/** Row that the keys act on, and its form. A letter acts on a row that the user has chosen since the last one: no slip decides. */
function useRowKeys(
  rows: readonly Approval[],
  list: { readonly current: HTMLElement | null },
  first: string | undefined,
) {
  const [current, setCurrent] = useState(first)
  const [form, setForm] = useState<{ id: string; kind: OpenForm }>()
  const armed = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    if (current === undefined && rows[0]) setCurrent(rows[0].id)
  }, [rows.length])
  const at = rows.findIndex(({ id }) => id === current)
  const move = (step: number) => {
    // The first step chooses the row that is marked.
    const isFirst = armed.current === undefined && rows[at]?.status === 'pending'
    const next = rows[Math.max(0, Math.min(rows.length - 1, isFirst ? at : at + step))]
    if (!next) return
    armed.current = next.id
    focusRow(list.current, next.id)
  }
  const act = (kind: OpenForm | 'approve') => (event: KeyboardEvent) => {
    const row = rows[at]
    if (event.repeat || row?.status !== 'pending') return
    // A question is answered by what is typed then.
    if (row.kind === 'question') return focusField(list.current, row.id)
    if (armed.current !== row.id) return
    armed.current = undefined
    if (kind === 'approve') approve(list.current, row.id)
    else setForm({ id: row.id, kind })
  }
  const close = () => {
    setForm(undefined)
    if (current) focusRow(list.current, current)
  }
  const [down, up] = [() => move(1), () => move(-1)]
  useShortcuts({
    ArrowDown: down,
    j: down,
    ArrowUp: up,
    k: up,
    a: act('approve'),
    e: act('edit'),
    r: act('reject'),
    Escape: close,
  })
  const choose = (target: EventTarget | null) => {
    const row = target instanceof Element ? target.closest<HTMLElement>('[data-id]') : null
    armed.current = row?.dataset.id
  }
  const arm = {
    onPointerDown: ({ target }: PointerEvent) => choose(target),
    onKeyUp: ({ key, target }: KeyboardEvent) => key === 'Tab' && choose(target),
  }
  return { current, form, setCurrent, setForm, arm }
}

/** Presses the button of a row, which can be undone for a moment. */
function approve(list: HTMLElement | null, id: string): void {
  list?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] .approve`)?.click()
}

function focusRow(list: HTMLElement | null, id: string): void {
  list?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] .approval-name`)?.focus()
}

function focusField(list: HTMLElement | null, id: string): void {
  list?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] :is(input, select)`)?.focus()
}

function byAge(one: Approval, other: Approval): number {
  return one.created_at - other.created_at || one.id.localeCompare(other.id)
}
