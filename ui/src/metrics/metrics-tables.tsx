import { formatDay, participantName } from '../format.ts'
import { href } from '../router.ts'
import { type Metrics, type MetricsSelection, useDays } from './metrics-query.ts'
import { ModelsTable } from './models-table.tsx'
import { byCount, NumbersTable } from './numbers-table.tsx'
import { VersionsTable } from './versions-table.tsx'

const DAY = 86_400

interface MetricsTablesProps {
  readonly metrics: Metrics
  readonly selection: MetricsSelection
  readonly pricesDate: string
}

/** Numbers by agent, version, model, tool, day and module. */
export function MetricsTables({ metrics, selection, pricesDate }: MetricsTablesProps) {
  const { agents, versions, modules, tools, total } = metrics
  const { range } = selection
  return (
    <>
      <NumbersTable
        title="By agent"
        first="Agent"
        what="Runs"
        rows={byCount(
          agents.map(({ agent_id, numbers }) => ({
            name: agent_id,
            link: href(['runs'], { agent: agent_id, range }),
            numbers,
          })),
        )}
      />
      <VersionsTable versions={versions} range={range} />
      <ModelsTable models={total.models} pricesDate={pricesDate} />
      <NumbersTable
        title="By tool"
        first="Tool"
        what="Calls"
        rows={byCount(
          tools.map(({ agent_id, tool_name, numbers }) => ({
            name: `${tool_name} · ${agent_id}`,
            link: href(['runs'], { agent: agent_id, tool: tool_name, range }),
            numbers,
          })),
        )}
      />
      <DaysTable selection={selection} />
      <NumbersTable
        title="By module"
        first="Module"
        what="Calls"
        rows={byCount(
          modules.map(({ agent_id, module_id, numbers }) => ({
            name: `${participantName(module_id)} · ${agent_id}`,
            link: href(['metrics'], { range, agent: agent_id, module: module_id }),
            numbers,
          })),
        )}
      />
    </>
  )
}

function DaysTable({ selection }: { selection: MetricsSelection }) {
  const { agent, module } = selection
  const days = useDays(selection)?.filter(({ numbers }) => numbers.count > 0) ?? []
  return (
    <NumbersTable
      title="By day"
      first="Day"
      what={module ? 'Calls' : 'Runs'}
      rows={days.map(({ time, numbers }) => ({
        name: formatDay(time),
        link: href(['runs'], { agent, module, since: String(time), until: String(time + DAY) }),
        numbers,
      }))}
    />
  )
}
