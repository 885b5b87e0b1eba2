import type { Problem } from '../../../../definition/problem.ts'
import type { ReplacedVersion } from '../../../../host/agent-folder/load-history.ts'
import { fieldsOf } from '../../../../json.ts'
import type { Prices } from '../../../../prices/prices.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import { hideSecrets, type Redact } from '../../../../redaction/redact.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import { writePayload } from '../../../../trace/files/payload.ts'
import { readTraceLine } from '../../../../trace/files/trace-line.ts'
import type { Traces } from '../../../../trace/traces.ts'
import type { AgentDescription, ModuleDescription } from '../../../../wiring/describe-agent.ts'
import type { DebugAdapterOptions } from '../../adapter.ts'
import { redactDefinition, shownDefinition } from '../redact-definition.ts'
import { contentFor, type Viewer } from '../viewer.ts'
import type { LargeReads } from './large-reads.ts'
import { viewRun } from './run-view.ts'
import { describeSchedule } from './schedule-view.ts'

/** Data sources of the views of agents. */
export interface AgentSources
  extends Pick<DebugAdapterOptions, 'host' | 'agents' | 'traces' | 'redact' | 'durableRuns'> {
  readonly prices: Prices
  readonly reads: LargeReads
}

/** Version that a load put into service. */
interface LoadedVersion {
  readonly version: string
  /** Without its secrets. */
  readonly text: () => Promise<string | null>
}

/** An agent in GraphQL. Expensive fields are computed only when a query selects them. */
export function viewAgent(info: AgentInfo, sources: AgentSources) {
  const { id, entryPoints, schedules = [] } = info
  const { host } = sources
  let description: AgentDescription | undefined
  const describe = () => {
    description ??= host.describe(id) ?? { modules: [], exchange: [] }
    return description
  }
  return {
    ...info,
    entry_points: entryPoints,
    modules: () => describe().modules.map((module) => viewModule(id, module, sources)),
    exchange: () => describe().exchange,
    calls: () => host.callsOf(id),
    definition: (_: unknown, viewer: Viewer) => (viewer.seesContent ? definitionOf(info, sources, viewer) : null),
    loads: (_: unknown, viewer: Viewer) => viewLoads(info, sources, viewer),
    schedules: (_: unknown, { seesContent, tenant: own }: Viewer) =>
      schedules
        .filter(({ tenant = '' }) => seesContent && (own === undefined || own === tenant))
        .map((schedule) => describeSchedule({ ...schedule, agent: id }, sources)),
    latest_run: (_: unknown, viewer: Viewer) => viewLatestRun(id, sources, viewer),
  }
}

/** Text of an agent, read once for a query, however often the query names it: reading takes as long as loading the agent. */
function definitionOf(info: AgentInfo, sources: AgentSources, viewer: Viewer): Promise<string | null> {
  return sources.reads.make(viewer, info, () => shownDefinition(info.id, sources))
}

function viewLoads(info: AgentInfo, sources: AgentSources, viewer: Viewer): object[] {
  const { id, file, version: current } = info
  const loads = sources.agents.history.records.filter((load) => load.id === id || load.file === file)
  let version: LoadedVersion | undefined = { version: current, text: () => definitionOf(info, sources, viewer) }
  return [...loads].reverse().map(({ replaced, problems, ...load }) => {
    const loaded = load.kind === 'rejected' || load.kind === 'removed' ? undefined : version
    const textOf = (before: ReplacedVersion) =>
      sources.reads.make(viewer, before, () => redactDefinition(before.text, before.secretPaths, sources.redact))
    if (loaded) version = replaced && { version: replaced.version, text: () => textOf(replaced) }
    return {
      ...load,
      problems: viewProblems(problems, viewer),
      version: loaded?.version ?? null,
      definition: () => (viewer.seesContent ? (loaded?.text() ?? null) : null),
    }
  })
}

async function viewLatestRun(agentId: string, sources: AgentSources, { tenant }: Viewer): Promise<object | null> {
  const { traces, prices } = sources
  await prices.refresh()
  const page = await traces?.query('runs', {
    filter: { agentId, tenant, isCounted: true },
    first: 1,
    after: undefined,
  })
  const run = page?.runs[0]
  return run && traces ? viewRun(run, { ...sources, traces }) : null
}

/** Their messages may quote what is written in a file. */
export function viewProblems(problems: readonly Problem[], { seesContent }: Viewer): object[] {
  return problems.map((problem) => (seesContent ? problem : { ...problem, message: null, suggestions: [] }))
}

function viewModule(agentId: string, module: ModuleDescription, { redact, traces }: AgentSources): object {
  const { moduleClass, config, variables, ...facts } = module
  return {
    ...facts,
    module_class: moduleClass,
    model: (_: unknown, viewer: Viewer) => contentFor(viewer, modelOf(module)),
    config: (_: unknown, { seesContent }: Viewer) =>
      seesContent ? JSON.parse(hideSecrets(writePayload(config, redact), redact)) : null,
    variables: (_: unknown, { seesContent }: Viewer) =>
      variables.map(({ path, schema, value }) => ({
        path,
        schema,
        value: seesContent ? viewValue(value, redact) : null,
      })),
    // What a provider says of its tools is the result of a call.
    tools: (_: unknown, viewer: Viewer) =>
      traces && viewer.seesContent && module.provides.includes('ToolProvider')
        ? toolsOf(agentId, module.id, traces, viewer)
        : null,
  }
}

/** Whole, unlike the values of traces: it is edited. */
function viewValue(value: unknown, redact: Redact): unknown {
  return value === undefined ? null : JSON.parse(hideSecrets(JSON.stringify(value), redact))
}

function modelOf({ provides, config }: ModuleDescription): string | null {
  return provides.includes('LLM') && typeof config.model === 'string' ? config.model : null
}

/** Those that the module listed when it was last asked: to ask it now would run the code of an agent for a look at it. */
async function toolsOf(agentId: string, moduleId: string, traces: Traces, { tenant }: Viewer): Promise<unknown> {
  const methodName = 'listTools'
  const run = await traces.query('latestWith', { agentId, tenant, step: `${moduleId}.${methodName}` })
  if (!run) return null
  const query = { runId: run.run_id, after: -1, first: 1, moduleId, methodName, eventType: 'result' }
  const [found] = (await traces.query('events', query)).events
  const tools = found && readTraceLine(found.line)?.result
  return Array.isArray(tools) ? tools.filter(isTool).map(viewTool) : null
}

function viewTool({ name, description, parameters, isChanged, approval }: ToolDefinition): object {
  return { name, description, parameters, is_changed: isChanged === true, approval: approval ?? null }
}

function isTool(value: unknown): value is ToolDefinition {
  const { name, description } = fieldsOf(value)
  return typeof name === 'string' && typeof description === 'string'
}
