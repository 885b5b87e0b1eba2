import { useQuery } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatTime, plural } from '../format.ts'
import { useLive } from '../live.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { PROBLEM_FIELDS, type Problem } from '../types.ts'
import { ToolForm } from './tool-form.tsx'
import { WiringGraph } from './wiring-graph.tsx'
import type { ExchangeRow, ModuleSummary } from './wiring-layout.ts'

interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: unknown
  readonly is_changed: boolean
}

interface ModuleDetails extends ModuleSummary {
  readonly module_class: string
  readonly description: string
  readonly config: unknown
  readonly provides: readonly string[]
  readonly uses: readonly string[]
  readonly scope: string
  readonly tools: readonly Tool[] | null
}

interface Load {
  readonly time: number
  readonly file: string
  readonly kind: string
  readonly problems: readonly Problem[]
}

interface AgentDetails {
  readonly id: string
  readonly title: string | null
  readonly description: string
  readonly file: string | null
  readonly entry_points: readonly string[]
  readonly definition: string | null
  readonly modules: readonly ModuleDetails[]
  readonly exchange: readonly ExchangeRow[]
  readonly loads: readonly Load[]
}

const QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  id title description file entry_points definition
  modules { id module module_class description source scope config provides uses tools { name description parameters is_changed } }
  exchange { module protocol provider fieldName }
  loads { time file kind problems { ${PROBLEM_FIELDS} } }
} }`

type View = 'wiring' | 'definition' | 'loads'
const VIEWS = [
  { name: 'wiring', title: 'Wiring' },
  { name: 'definition', title: 'Definition' },
  { name: 'loads', title: 'Loads' },
] as const

export function AgentScreen({ route, server }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { data, error, reload } = useQuery<{ agent_config: AgentDetails }>(QUERY, { id })
  useLive('agents', reload)
  useLive('ready', reload)
  const agent = data?.agent_config
  if (!agent || (error && agent.id !== id)) {
    if (!error) return null
    return (
      <Empty isPage title={error}>
        It may have been renamed or removed. <a href={href(['agents'])}>All agents</a>
      </Empty>
    )
  }
  const view = VIEWS.find(({ name }) => name === route.query.view)?.name ?? 'wiring'
  const show = (query: Record<string, string>) =>
    go(href(['agents', id], { ...route.query, ...query }), { replace: true })
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>{agent.title ?? agent.id}</h1>
        <span class="head-links">
          <a class="button" href={href(['play', id])}>
            <Icon name="play" />
            <span>Try it</span>
          </a>
          <a class="button" href={href(['runs'], { agent: id })}>
            <Icon name="runs" />
            <span>Runs</span>
          </a>
          <a class="button" href={href(['metrics'], { agent: id })}>
            <Icon name="metrics" />
            <span>Metrics</span>
          </a>
        </span>
      </div>
      <p class="lead">{agent.description}</p>
      <p class="muted facts">
        <code>{agent.id}</code>
        {agent.file && <span>{agent.file}</span>}
        <span>{plural(agent.modules.length, 'module')}</span>
        {agent.entry_points.length > 0 && <span>entry points: {agent.entry_points.join(', ')}</span>}
      </p>
      <LatestProblem load={agent.loads[0]} />
      <Tabs label="Views of the agent" tabs={VIEWS} selected={view} onSelect={(name: View) => show({ view: name })} />
      {view === 'wiring' && (
        <Wiring
          agent={agent}
          selected={route.query.module ?? ''}
          canCall={server?.development ?? false}
          onSelect={(module) => show({ module })}
        />
      )}
      {view === 'definition' && <Definition text={agent.definition} />}
      {view === 'loads' && <Loads loads={agent.loads} />}
    </div>
  )
}

function LatestProblem({ load }: { load: Load | undefined }) {
  if (load?.kind !== 'rejected') return null
  return (
    <Notice
      kind="bad"
      title={`The current file has errors (${formatTime(load.time)}); still serving the last good version`}
    >
      {load.problems.map((problem) => (
        <ProblemText problem={problem} />
      ))}
    </Notice>
  )
}

function ProblemText({ problem: { file, line, column, message, suggestions } }: { problem: Problem }) {
  return (
    <div class="problem-text">
      <code>{[file, line, column].filter((part) => part !== null).join(':')}</code> {message}
      {suggestions.map((suggestion) => (
        <div class="muted">{suggestion}</div>
      ))}
    </div>
  )
}

interface WiringProps {
  readonly agent: AgentDetails
  readonly selected: string
  readonly canCall: boolean
  readonly onSelect: (module: string) => void
}

function Wiring({ agent, selected, canCall, onSelect }: WiringProps) {
  const module = agent.modules.find(({ id }) => id === selected)
  return (
    <div class="split">
      <section class="panel graph-panel" aria-label="Wiring of the agent">
        <WiringGraph modules={agent.modules} exchange={agent.exchange} selected={selected} onSelect={onSelect} />
      </section>
      {module ? (
        <ModulePanel
          module={module}
          exchange={agent.exchange}
          agentId={agent.id}
          canCall={canCall}
          onClose={() => onSelect('')}
        />
      ) : (
        <aside class="panel side">
          <Empty title="Choose a module">Its config, source and tools are shown here.</Empty>
        </aside>
      )}
    </div>
  )
}

const SOURCES: Readonly<Record<string, string>> = {
  library: 'from the library',
  ejected: "the project's own copy of the library's module",
  project: "the project's own",
  package: 'from a package',
}

interface ModulePanelProps {
  readonly module: ModuleDetails
  readonly exchange: readonly ExchangeRow[]
  readonly agentId: string
  readonly canCall: boolean
  readonly onClose: () => void
}

function ModulePanel({ module, exchange, agentId, canCall, onClose }: ModulePanelProps) {
  const own = exchange.filter(({ module: id }) => id === module.id)
  return (
    <aside class="panel side" aria-label={`Module ${module.id}`}>
      <div class="panel-head">
        <h2>{module.id}</h2>
        <span class={`badge source-${module.source}`}>{module.source}</span>
        <button type="button" class="icon-button" onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      <p>{module.description}</p>
      <dl class="facts-list">
        <dt>Module</dt>
        <dd>
          <code>{module.module}</code> <span class="muted">{SOURCES[module.source]}</span>
        </dd>
        <dt>Class</dt>
        <dd>
          <code>{module.module_class}</code>
        </dd>
        <dt>Scope</dt>
        <dd>{module.scope === 'agent' ? 'agent: one, shared by all runs' : 'instance: one for each run'}</dd>
        <dt>Provides</dt>
        <dd>{module.provides.join(', ') || '–'}</dd>
        <dt>Uses</dt>
        <dd>
          {own.length === 0
            ? '–'
            : own.map(({ protocol, provider, fieldName }) => (
                <div key={`${fieldName} ${provider}`}>
                  {protocol} <span class="muted">from</span> <code>{provider}</code>
                </div>
              ))}
        </dd>
      </dl>
      <h3>Config</h3>
      <JsonTree value={module.config} label="config" />
      {module.provides.includes('ToolProvider') && (
        <Tools agentId={agentId} moduleId={module.id} tools={module.tools} canCall={canCall} />
      )}
    </aside>
  )
}

interface ToolsProps {
  readonly agentId: string
  readonly moduleId: string
  readonly tools: readonly Tool[] | null
  /** Under `agent-host dev`. */
  readonly canCall: boolean
}

function Tools({ agentId, moduleId, tools, canCall }: ToolsProps) {
  return (
    <>
      <h3>Tools</h3>
      {!tools && <p class="muted">They are known after the first run in which they were listed.</p>}
      {tools?.map(({ name, description, parameters, is_changed }) => (
        <details class="tool" key={name}>
          <summary>
            <code>{name}</code>
            {is_changed && <span class="badge bad">description changed</span>}
          </summary>
          {is_changed && (
            <p class="muted">Its server describes it otherwise than at first. Read it again before you trust it.</p>
          )}
          <p>{description}</p>
          <JsonTree value={parameters} label={`parameters of ${name}`} />
          {canCall && <ToolForm agentId={agentId} moduleId={moduleId} name={name} parameters={parameters} />}
        </details>
      ))}
    </>
  )
}

function Definition({ text }: { text: string | null }) {
  if (text === null) return <Empty title="This agent came from no file">It was registered by a program.</Empty>
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>The version in service</h2>
        <CopyButton text={text} label="Copy" />
      </div>
      <pre class="code numbered" tabIndex={0}>
        {text.split('\n').map((line, index) => (
          <span key={index} class="code-line">
            {line}
            {'\n'}
          </span>
        ))}
      </pre>
    </section>
  )
}

function Loads({ loads }: { loads: readonly Load[] }) {
  return (
    <section class="panel">
      <ol class="loads">
        {loads.map((load) => (
          <li key={load.time}>
            <time class="muted" dateTime={new Date(load.time * 1000).toISOString()}>
              {formatTime(load.time)}
            </time>
            <span class={`badge ${load.kind === 'rejected' ? 'bad' : 'good'}`}>{load.kind}</span>
            <span>{load.file}</span>
            {load.problems.map((problem) => (
              <ProblemText problem={problem} />
            ))}
          </li>
        ))}
      </ol>
    </section>
  )
}
