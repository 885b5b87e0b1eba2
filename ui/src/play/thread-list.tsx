import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { formatAgo } from '../format.ts'
import { go, href } from '../router.ts'
import { removeThread, type Thread } from './threads.ts'

interface ThreadListProps {
  readonly threads: readonly Thread[]
  readonly current: string
  /** Of which a new thread is begun. */
  readonly agent: string
  readonly entry: string
}

/** Threads of this browser, newest first. */
export function ThreadList({ threads, current, agent, entry }: ThreadListProps) {
  const remove = (id: string) => {
    removeThread(id)
    if (id === current) go(href(['play', agent], { entry }), { replace: true })
  }
  return (
    <aside class="threads" aria-label="Threads">
      <a class="button" href={href(['play', agent], { entry })}>
        <Icon name="plus" />
        <span>New</span>
      </a>
      <ul>
        {threads.map(({ id, model, updatedAt, turns }) => (
          <li key={id} class="thread">
            <a href={threadLink(model, id)} aria-current={id === current ? 'true' : undefined}>
              <span class="thread-title">{turns[0]?.question}</span>
              <span class="muted">
                {model} · {formatAgo(updatedAt)}
              </span>
            </a>
            <IconButton icon="trash" label="Remove the thread" onClick={() => remove(id)} />
          </li>
        ))}
      </ul>
    </aside>
  )
}

function threadLink(model: string, thread: string): string {
  const [agent = '', entry] = model.split('/')
  return href(['play', agent], { entry, thread })
}
