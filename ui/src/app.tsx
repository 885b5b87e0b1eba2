import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { cleanText } from '../../src/wire/clean-text.ts'
import { AgentsScreen } from './agents/agents-screen.tsx'
import { useQuery } from './api.ts'
import { CommandMenu } from './command-menu.tsx'
import { Boundary } from './components/boundary.tsx'
import { Empty, Notice } from './components/notice.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { HiddenScreen } from './hidden-screen.tsx'
import { InboxProvider } from './inbox.ts'
import { useShortcuts } from './keyboard.ts'
import { LiveProvider, useLive } from './live.ts'
import { QuestionsProvider } from './questions/ask-button.tsx'
import { readKey, saveKey } from './responses/responses-client.ts'
import { href, type Route, useRoute } from './router.ts'
import type { ScreenProps } from './screen.ts'
import { ShortcutHelp } from './shortcut-help.tsx'
import { Sidebar } from './sidebar.tsx'
import { readToken, useRefusal } from './token.ts'
import { TokenScreen } from './token-screen.tsx'
import { TracingNotice } from './tracing-notice.tsx'
import type { ServerInfo } from './types.ts'

interface Screen {
  readonly title: string
  readonly component?: ComponentType<ScreenProps>
  /** Loads a large screen when it is first shown. */
  readonly load?: () => Promise<ComponentType<ScreenProps>>
}

const SCREENS: Readonly<Record<string, Screen>> = {
  agents: { title: 'Agents', component: AgentsScreen },
  agent: { title: 'Agent', load: async () => (await import('./agent/agent-screen.tsx')).AgentScreen },
  play: { title: 'Playground', load: async () => (await import('./play/play-screen.tsx')).PlayScreen },
  runs: { title: 'Runs', load: async () => (await import('./runs/runs-screen.tsx')).RunsScreen },
  run: { title: 'Run', load: async () => (await import('./run/run-screen.tsx')).RunScreen },
  conversations: {
    title: 'Conversation',
    load: async () => (await import('./conversation/conversation-screen.tsx')).ConversationScreen,
  },
  compare: { title: 'Compare', load: async () => (await import('./compare/compare-screen.tsx')).CompareScreen },
  approvals: {
    title: 'Approvals',
    load: async () => (await import('./approvals/approvals-screen.tsx')).ApprovalsScreen,
  },
  evals: { title: 'Evals', load: async () => (await import('./evals/evals-screen.tsx')).EvalsScreen },
  webhooks: { title: 'Webhooks', load: async () => (await import('./webhooks/webhooks-screen.tsx')).WebhooksScreen },
  metrics: { title: 'Metrics', load: async () => (await import('./metrics/metrics-screen.tsx')).MetricsScreen },
}

function screenOf({ path: [first = 'agents', id] }: Route): string {
  if (first === 'agents' && id !== undefined) return 'agent'
  if (first === 'runs' && id !== undefined) return 'run'
  return first
}

const SERVER_QUERY =
  '{ server { version name shares_runs adapters adapters_with_key prices_date development project_dir has_webhooks takes_variants takes_definitions asks_at_terminal shows_content key_scopes tracing { is_on dropped problem missing_bytes } } }'

export function App() {
  const refusal = useRefusal()
  if (refusal !== undefined) return <TokenScreen refusal={refusal} />
  return (
    <LiveProvider>
      <Screens />
    </LiveProvider>
  )
}

function Screens() {
  const route = useRoute()
  const { data, error, reload } = useQuery<{ server: ServerInfo }>(SERVER_QUERY)
  useLive('ready', reload)
  useLive('tracing', reload)
  const name = screenOf(route)
  const screen = SCREENS[name]
  const [isMenuOpen, setMenuOpen] = useState(false)
  useShortcuts({ 'mod+k': () => setMenuOpen(!isMenuOpen) })
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    const subject = name === 'agent' || name === 'run' ? route.path[1] : undefined
    document.title = `${subject ?? screen?.title ?? 'Not found'} · agent-host`
  }, [name, route.path[1]])
  useEffect(() => {
    // The key of a person may be that of the responses adapter, too.
    if (data?.server.key_scopes.some((scope) => scope !== 'debug') && readKey() === '') saveKey(readToken())
  }, [data])
  if (data && !data.server.shows_content) return <HiddenScreen />
  return (
    <InboxProvider server={data?.server}>
      <div class="app">
        {/* A button: what stands behind # is a place of the page. */}
        <button type="button" class="skip" onClick={() => main.current?.focus()}>
          Skip to the content
        </button>
        {isMenuOpen && <CommandMenu onClose={() => setMenuOpen(false)} />}
        <ShortcutHelp />
        <ConnectionNotice />
        <Sidebar
          current={name === 'compare' || name === 'conversations' ? 'runs' : (route.path[0] ?? 'agents')}
          server={data?.server}
          onMenu={() => setMenuOpen(true)}
        />
        <main id="main" ref={main} tabIndex={-1}>
          {error && !data && (
            <Notice kind="bad" title="No answer from the server">
              {error}
            </Notice>
          )}
          <TracingNotice tracing={data?.server.tracing} />
          {screen ? (
            <QuestionsProvider isOn={data?.server.asks_at_terminal ?? false}>
              <ScreenOf key={name} screen={screen} route={route} server={data?.server} />
            </QuestionsProvider>
          ) : (
            <Empty isPage title="There is no such page">
              <a href={href(['agents'])}>Go to the agents</a>
            </Empty>
          )}
        </main>
      </div>
    </InboxProvider>
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
  if (!Component) return null
  return (
    <Boundary of={props.route.path.join('/')} instead={showFailure}>
      <Component {...props} />
    </Boundary>
  )
}

function showFailure({ message }: Error) {
  return (
    <Notice kind="bad" title="This screen cannot be shown.">
      Reload the page, or open another screen. The error: {cleanText(message)}
    </Notice>
  )
}
