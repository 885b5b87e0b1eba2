import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AgentsScreen } from './agents/agents-screen.tsx'
import { useQuery } from './api.ts'
import { useInbox, useInboxUpdates } from './approvals/inbox.ts'
import { CommandMenu } from './command-menu.tsx'
import { Icon, type IconName } from './components/icon.tsx'
import { Empty, Notice } from './components/notice.tsx'
import { plural } from './format.ts'
import { useIsLive, useLive } from './live.ts'
import { href, type Route, useRoute } from './router.ts'
import { RunsScreen } from './runs/runs-screen.tsx'
import type { ScreenProps } from './screen.ts'
import { ShortcutHelp } from './shortcut-help.tsx'
import { applyTheme, readTheme, type Theme } from './theme.ts'
import type { ServerFacts } from './types.ts'

interface Screen {
  readonly title: string
  readonly component?: ComponentType<ScreenProps>
  /** For what is large, and not the first thing that is looked at. */
  readonly load?: () => Promise<ComponentType<ScreenProps>>
}

const SCREENS: Readonly<Record<string, Screen>> = {
  agents: { title: 'Agents', component: AgentsScreen },
  agent: { title: 'Agent', load: async () => (await import('./agent/agent-screen.tsx')).AgentScreen },
  play: { title: 'Playground', load: async () => (await import('./play/play-screen.tsx')).PlayScreen },
  runs: { title: 'Runs', component: RunsScreen },
  run: { title: 'Run', load: async () => (await import('./run/run-screen.tsx')).RunScreen },
  approvals: {
    title: 'Approvals',
    load: async () => (await import('./approvals/approvals-screen.tsx')).ApprovalsScreen,
  },
  metrics: { title: 'Metrics', load: async () => (await import('./metrics/metrics-screen.tsx')).MetricsScreen },
}

const NAVIGATION: readonly { name: string; title: string; icon: IconName }[] = [
  { name: 'agents', title: 'Agents', icon: 'agents' },
  { name: 'play', title: 'Playground', icon: 'play' },
  { name: 'runs', title: 'Runs', icon: 'runs' },
  { name: 'metrics', title: 'Metrics', icon: 'metrics' },
]

function screenOf({ path: [first = 'agents', id] }: Route): string {
  if (first === 'agents' && id !== undefined) return 'agent'
  if (first === 'runs' && id !== undefined) return 'run'
  return first
}

const SERVER_QUERY =
  '{ server { version adapters adapters_with_key prices_date development tracing { is_on dropped problem missing_bytes } } }'

export function App() {
  const route = useRoute()
  const { data, error, reload } = useQuery<{ server: ServerFacts }>(SERVER_QUERY)
  useLive('ready', reload)
  useLive('tracing', reload)
  const name = screenOf(route)
  const screen = SCREENS[name]
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    const subject = name === 'agent' || name === 'run' ? route.path[1] : undefined
    document.title = `${subject ?? screen?.title ?? 'Not found'} · agent-host`
  }, [name, route.path[1]])
  return (
    <div class="app">
      {/* A button: what stands behind # is a place of the page. */}
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <CommandMenu />
      <ShortcutHelp />
      <Sidebar current={route.path[0] ?? 'agents'} server={data?.server} />
      <main id="main" ref={main} tabIndex={-1}>
        {error && !data && (
          <Notice kind="bad" title="No answer from the server">
            {error}
          </Notice>
        )}
        <TracingNotice tracing={data?.server.tracing} />
        {screen ? (
          <ScreenOf key={name} screen={screen} route={route} server={data?.server} />
        ) : (
          <Empty isPage title="There is no such page">
            <a href={href(['agents'])}>Go to the agents</a>
          </Empty>
        )}
      </main>
    </div>
  )
}

function ScreenOf({ screen, ...props }: { screen: Screen } & ScreenProps) {
  const [Component, setComponent] = useState<ComponentType<ScreenProps> | undefined>(() => screen.component)
  const [error, setError] = useState('')
  useEffect(() => {
    if (Component) return
    screen.load?.().then(
      (loaded) => setComponent(() => loaded),
      () => setError('This part of the page could not be loaded. Is the server still running?'),
    )
  }, [])
  if (error) return <Notice kind="bad" title={error} />
  return Component ? <Component {...props} /> : null
}

function Sidebar({ current, server }: { current: string; server: ServerFacts | undefined }) {
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

/** Way to the inbox, with how many wait; there is none where the server offers no inbox. */
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

const NAMES: Readonly<Record<Theme, string>> = { auto: 'system', light: 'light', dark: 'dark' }
const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }

function ThemeButton() {
  const [theme, setTheme] = useState(readTheme)
  const change = () => {
    const next = NEXT_THEME[theme]
    applyTheme(next)
    setTheme(next)
  }
  const icon: IconName = theme === 'auto' ? 'auto' : theme === 'light' ? 'sun' : 'moon'
  return (
    <button
      type="button"
      class="icon-button"
      onClick={change}
      title={`Theme: ${NAMES[theme]}`}
      aria-label={`Theme: ${NAMES[theme]}. Change`}
    >
      <Icon name={icon} />
    </button>
  )
}

function TracingNotice({ tracing }: { tracing: ServerFacts['tracing'] | undefined }) {
  if (!tracing) return null
  if (!tracing.is_on) {
    return (
      <Notice kind="warn" title="Nothing is traced">
        Runs and metrics stay empty: start the server with <code>agent-host dev</code> or <code>--debug-ui true</code>.
      </Notice>
    )
  }
  if (tracing.dropped > 0) {
    return (
      <Notice kind="warn" title={`${plural(tracing.dropped, 'event')} lost`}>
        {tracing.problem ?? 'They came faster than they could be written.'}
      </Notice>
    )
  }
  if (tracing.missing_bytes < 4e6) return null
  return (
    <Notice kind="info" title="Older traces are being read">
      {Math.round(tracing.missing_bytes / 1e6)} MB to go; runs appear as they are found.
    </Notice>
  )
}
