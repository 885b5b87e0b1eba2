import { useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { formatAgo } from '../format.ts'
import type { Column } from '../responses/column.ts'
import { go } from '../router.ts'
import { playAddress, startAddress } from './play-address.ts'
import { removeThread, type Thread } from './threads.ts'

interface ThreadListProps {
  readonly threads: readonly Thread[]
  readonly current: string
  /** Of a new thread. */
  readonly columns: readonly Column[]
}

/** Threads of this browser, newest first. */
export function ThreadList({ threads, current, columns }: ThreadListProps) {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const shown = threads.filter(({ turns }) => turns.some(({ question }) => question.toLowerCase().includes(wanted)))
  const remove = (id: string) => {
    removeThread(id)
    if (id === current) go(startAddress(columns), { replace: true })
  }
  return (
    <aside class="threads" aria-label="Threads">
      <a class="button" href={startAddress(columns.map(({ model }) => ({ model })))}>
        <Icon name="plus" />
        <span>New</span>
      </a>
      {threads.length > 1 && (
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search threads"
            aria-label="Search threads"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
      )}
      {shown.length === 0 && threads.length > 0 && <p class="muted">No thread with this text.</p>}
      <ul>
        {shown.map((thread) => (
          <li key={thread.id} class="thread">
            <a href={playAddress(thread.columns, thread.id)} aria-current={thread.id === current ? 'true' : undefined}>
              <span class="thread-title">{thread.turns[0]?.question || thread.turns[0]?.files[0]}</span>
              <span class="muted">
                {thread.columns.map(({ model }) => model).join(' | ')} · {formatAgo(thread.updatedAt)}
              </span>
            </a>
            <IconButton icon="trash" label="Remove the thread" onClick={() => remove(thread.id)} />
          </li>
        ))}
      </ul>
    </aside>
  )
}
