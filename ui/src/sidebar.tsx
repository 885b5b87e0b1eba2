import { useInbox, useInboxUpdates } from './approvals/inbox.ts'
import { Icon, type IconName } from './components/icon.tsx'
import { useIsLive } from './live.ts'
import { href } from './router.ts'
import { ThemeButton } from './theme-button.tsx'
import type { ServerInfo } from './types.ts'

const NAVIGATION: readonly { name: string; title: string; icon: IconName }[] = [
  { name: 'agents', title: 'Agents', icon: 'agents' },
  { name: 'play', title: 'Playground', icon: 'play' },
  { name: 'runs', title: 'Runs', icon: 'runs' },
  { name: 'metrics', title: 'Metrics', icon: 'metrics' },
]

/** Navigation of the page, and below it how the page is connected. */
export function Sidebar({ current, server }: { current: string; server: ServerInfo | undefined }) {
  const isLive = useIsLive()
  useInboxUpdates(server)
  return (
    <header class="sidebar">
      <a class="brand" href={href(['agents'])}>
        <Icon name="logo" />
        <span>agent-host</span>
      </a>
      <nav aria-label="Main">
        {NAVIGATION.map(({ name, title, icon }) => (
          <a key={name} href={href([name])} aria-current={name === current ? 'page' : undefined}>
            <Icon name={icon} />
            <span>{title}</span>
          </a>
        ))}
        <InboxLink isCurrent={current === 'approvals'} />
      </nav>
      <div class="sidebar-end">
        <span class="live" data-live={isLive} role="status">
          <span class="dot" aria-hidden="true" />
          <span class="live-text">{isLive ? 'Live' : 'Connecting…'}</span>
        </span>
        <ThemeButton />
        {server && <span class="version">v{server.version}</span>}
      </div>
    </header>
  )
}

/** Link to the inbox with the number of approvals; absent if the server has no inbox. */
function InboxLink({ isCurrent }: { isCurrent: boolean }) {
  const { isOffered, open, hasMore } = useInbox()
  if (!isOffered) return null
  return (
    <a href={href(['approvals'])} aria-current={isCurrent ? 'page' : undefined}>
      <Icon name="approvals" />
      <span>Approvals</span>
      {open.length > 0 && (
        <span class="badge warn nav-count">
          {open.length}
          {hasMore && '+'}
        </span>
      )}
    </a>
  )
}
