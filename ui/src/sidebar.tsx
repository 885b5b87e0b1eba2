import { Icon, type IconName } from './components/icon.tsx'
import { useInbox } from './inbox.ts'
import { useIsLive } from './live.ts'
import { href } from './router.ts'
import { ThemeButton } from './theme-button.tsx'
import type { ServerInfo } from './types.ts'

const NAVIGATION: readonly { name: string; title: string; icon: IconName }[] = [
  { name: 'agents', title: 'Agents', icon: 'agents' },
  { name: 'play', title: 'Playground', icon: 'play' },
  { name: 'runs', title: 'Runs', icon: 'runs' },
  { name: 'metrics', title: 'Metrics', icon: 'metrics' },
  { name: 'evals', title: 'Evals', icon: 'evals' },
  { name: 'webhooks', title: 'Webhooks', icon: 'send' },
]

interface SidebarProps {
  readonly current: string
  readonly server: ServerInfo | undefined
  /** Opens the menu of everything that has a name. */
  readonly onMenu: () => void
}

/** Navigation of the page, and below it how the page is connected. */
export function Sidebar({ current, server, onMenu }: SidebarProps) {
  const isLive = useIsLive()
  return (
    <header class="sidebar">
      <a class="brand" href={href(['agents'])}>
        <Icon name="logo" />
        <span>agent-host</span>
      </a>
      <button type="button" class="menu-button" onClick={onMenu} title="Go to (Ctrl K)">
        <Icon name="search" />
        <span>Go to</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label="Main">
        {NAVIGATION.filter(({ name }) => name !== 'webhooks' || server?.has_webhooks).map(({ name, title, icon }) => (
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
        {server?.development && (
          <a class="api-link" href="docs" title="Reference of the API">
            API
          </a>
        )}
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
