import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Figure } from '../components/figure.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { Status } from '../components/status.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatAgo, formatCount, formatDuration, formatPercent, plural } from '../format.ts'
import { useLive, useThrottled } from '../live.ts'
import { href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { curlSnippet, mcpSnippet, openaiSnippet } from '../snippets/client-snippets.ts'
import {
  NUMBER_FIELDS,
  type Numbers,
  PROBLEM_FIELDS,
  type Problem,
  type RunStatus,
  type ServerFacts,
} from '../types.ts'

interface AgentCard {
  readonly id: string
  readonly title: string | null
  readonly description: string
  readonly file: string | null
  readonly entry_points: readonly string[]
  readonly latest_run: { readonly run_id: string; readonly status: RunStatus; readonly started_at: number } | null
}

interface Answer {
  readonly list_agents: readonly AgentCard[]
  readonly problems: readonly Problem[]
}

const QUERY = `{
  list_agents { id title description file entry_points latest_run { run_id status started_at } }
  problems { ${PROBLEM_FIELDS} }
}`
const DAY = 86_400
const METRICS_QUERY = `query($since: Float) { metrics(since: $since, points: 1) { agents { agent_id numbers { ${NUMBER_FIELDS} } } } }`

interface MetricsAnswer {
  readonly metrics: { readonly agents: readonly { readonly agent_id: string; readonly numbers: Numbers }[] }
}

export function AgentsScreen({ server }: ScreenProps) {
  const { data, error, reload } = useQuery<Answer>(QUERY)
  const [since, setSince] = useState(() => Math.floor(Date.now() / 1000) - DAY)
  const metrics = useQuery<MetricsAnswer>(METRICS_QUERY, { since })
  const refresh = useThrottled(() => {
    reload()
    setSince(Math.floor(Date.now() / 1000) - DAY)
  }, 1000)
  useLive('agents', reload)
  useLive('runs', refresh)
  useLive('ready', refresh)
  if (!data)
    return error ? (
      <Notice kind="bad" title="The agents could not be read">
        {error}
      </Notice>
    ) : null
  const numbers = new Map(metrics.data?.metrics.agents.map((agent) => [agent.agent_id, agent.numbers]))
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Agents</h1>
        <span class="muted">{plural(data.list_agents.length, 'agent')} in service · numbers of the last 24 hours</span>
      </div>
      <Problems problems={data.problems} />
      {data.list_agents.length === 0 ? (
        <Empty title="There is no agent yet">
          Put a YAML file into <code>agents/</code>: it is served as soon as it is saved.
          <pre class="code">{EXAMPLE}</pre>
        </Empty>
      ) : (
        <ul class="cards">
          {data.list_agents.map((agent) => (
            <Card key={agent.id} agent={agent} numbers={numbers.get(agent.id)} problems={data.problems} />
          ))}
        </ul>
      )}
      {data.list_agents[0] && <Snippets agents={data.list_agents} server={server} />}
    </div>
  )
}

const EXAMPLE = `id: hello
description: Says it again
modules:
  - { id: echo, module: echo }`

function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null
  return (
    <section class="problems" aria-label="Files that are not served as they are">
      {problems.map(({ file, line, column, message, suggestions }) => (
        <Notice kind="bad" title={[file, line, column].filter((part) => part !== null).join(':')}>
          <p class="problem-text">{message}</p>
          {suggestions.map((suggestion) => (
            <p class="problem-text muted">{suggestion}</p>
          ))}
        </Notice>
      ))}
    </section>
  )
}

interface CardProps {
  readonly agent: AgentCard
  readonly numbers: Numbers | undefined
  readonly problems: readonly Problem[]
}

function Card({ agent, numbers, problems }: CardProps) {
  const isBroken = problems.some(({ file }) => file !== null && file === agent.file)
  return (
    <li class="card">
      <div class="card-head">
        <h2>
          <a class="card-link" href={href(['agents', agent.id])}>
            {agent.title ?? agent.id}
          </a>
        </h2>
        <Health isBroken={isBroken} numbers={numbers} />
      </div>
      <p class="card-text">{agent.description || <span class="muted">No description</span>}</p>
      <p class="card-entries">
        <code>{agent.id}</code>
        {agent.entry_points.map((name) => (
          <code key={name}>
            {agent.id}/{name}
          </code>
        ))}
      </p>
      <dl class="figures">
        <Figure name="Runs" value={formatCount(numbers?.count ?? 0)} />
        <Figure
          name="Errors"
          value={numbers ? formatPercent(numbers.errors / numbers.count) : '–'}
          isBad={(numbers?.errors ?? 0) > 0}
        />
        <Figure name="p95" value={formatDuration(numbers?.p95_ms)} />
      </dl>
      <p class="card-foot">
        {agent.latest_run ? (
          <>
            <Status status={agent.latest_run.status} />
            <a href={href(['runs', agent.latest_run.run_id])}>{formatAgo(agent.latest_run.started_at)}</a>
          </>
        ) : (
          <span class="muted">Not run yet</span>
        )}
        <span class="card-actions">
          <a href={href(['play', agent.id])}>Try it</a>
          <a href={href(['runs'], { agent: agent.id })}>Runs</a>
        </span>
      </p>
    </li>
  )
}

/** Share of runs that may fail before an agent is called failing. */
const FAILING = 0.5

/** One word on an agent: what its file says, and then what its runs say. */
function Health({ isBroken, numbers }: { isBroken: boolean; numbers: Numbers | undefined }) {
  if (isBroken) return <span class="badge bad">last good version</span>
  if (!numbers || numbers.count === 0) return <span class="badge">ready</span>
  if (numbers.errors === 0) return <span class="badge good">healthy</span>
  const share = numbers.errors / numbers.count
  return (
    <span class={`badge ${share >= FAILING ? 'bad' : 'warn'}`}>{share >= FAILING ? 'failing' : 'some errors'}</span>
  )
}

type Client = 'curl' | 'openai' | 'mcp'
const CLIENTS = [
  { name: 'curl', title: 'curl' },
  { name: 'openai', title: 'openai client' },
  { name: 'mcp', title: 'MCP client' },
] as const

function Snippets({ agents, server }: { agents: readonly AgentCard[]; server: ServerFacts | undefined }) {
  const [client, setClient] = useState<Client>('curl')
  const [model, setModel] = useState(agents[0]?.id ?? '')
  const hasKey = (name: string) => server?.adapters_with_key.includes(name) ?? false
  const facts = { model, message: 'Hello', hasKey: hasKey('ChatCompatApiAdapter') }
  const text = {
    curl: () => curlSnippet(facts),
    openai: () => openaiSnippet(facts),
    mcp: () => mcpSnippet(server?.adapters.includes('McpApiAdapter') ?? false, hasKey('McpApiAdapter')),
  }[client]()
  const names = agents.flatMap(({ id, entry_points }) => [id, ...entry_points.map((entry) => `${id}/${entry}`)])
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Call an agent</h2>
        <Tabs label="Client" tabs={CLIENTS} selected={client} onSelect={setClient} />
        {client !== 'mcp' && (
          <label class="field">
            <span class="hidden">Agent</span>
            <select value={model} onChange={({ currentTarget }) => setModel(currentTarget.value)}>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <CopyButton text={text} label="Copy" />
      </div>
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </section>
  )
}
