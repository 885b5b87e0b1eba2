import type { RunFilter } from './trace-query.ts'

/** Number of the file of runs whose events are elsewhere. */
export const REMOTE = 0

/** A call of a single module begins there, and has no turn. */
const IS_CALL = "(steps LIKE ' ' || entry_point || '.%' AND steps NOT LIKE '%.handle%')"

/** Facts of runs that a filter compares with a value. */
const COMPARED = [
  ['agentId', 'agent_id = ?'],
  ['server', 'server = ?'],
  ['entryPoint', 'entry_point = ?'],
  ['user', 'user = ?'],
  // The first run names no conversation: the others are named for it.
  ['conversation', '? IN (conversation, run_id)'],
  ['status', 'status = ?'],
  ['since', 'started_at >= ?'],
  ['until', 'started_at < ?'],
  ['minDurationMs', 'duration_ms >= ?'],
  ['maxDurationMs', 'duration_ms <= ?'],
  ['agentVersion', 'agent_version = ?'],
] as const satisfies readonly (readonly [keyof RunFilter, string])[]

/** Conditions in SQL that the rows of a filter's runs meet, with the values that they name. */
export function conditionsOf(filter: RunFilter): { where: string[]; values: (string | number)[] } {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, ...given: (string | number)[]) => {
    where.push(condition)
    values.push(...given)
  }
  for (const [name, condition] of COMPARED) {
    const value = filter[name]
    if (value !== undefined) add(condition, value)
  }
  // The index of tenants has no runs of the nameless one: servers without tenants do not pay for it.
  if (filter.tenant === '') add("tenant = ''")
  else if (filter.tenant !== undefined) add("tenant <> '' AND tenant = ?", filter.tenant)
  // Globs of agents have no pattern but `*`.
  if (filter.agents) add(`(${filter.agents.map(() => 'agent_id GLOB ?').join(' OR ')})`, ...filter.agents)
  if (filter.isEval !== undefined) add(`eval_case IS ${filter.isEval ? 'NOT NULL' : 'NULL'}`)
  if (filter.isCounted === true) add(`eval_case IS NULL AND replays IS NULL AND NOT ${IS_CALL}`)
  if (filter.hasEvents === true) add(`file <> ${REMOTE}`)
  if (filter.isTopLevel === true) {
    const isKnown = 'EXISTS (SELECT 1 FROM runs AS parent WHERE parent.run_id = runs.parent_run_id)'
    add(`(parent_run_id IS NULL OR NOT ${isKnown})`)
  }
  if (filter.eventType === 'result') add('results > 0')
  if (filter.eventType === 'exception') add('errors > 0')
  if (filter.eventType === 'end') add(`status NOT IN ('running', 'interrupted')`)
  if (filter.step !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.step)} %`)
  if (filter.moduleId !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.moduleId)}.%`)
  if (filter.methodName !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `%.${literal(filter.methodName)} %`)
  if (filter.toolName !== undefined) add(`tools LIKE ? ESCAPE '\\'`, `%${literal(JSON.stringify(filter.toolName))}:{%`)
  if (filter.text !== undefined) {
    const pattern = `%${literal(filter.text)}%`
    const columns = ['input', 'output', 'error', 'run_id', 'agent_id', 'user', 'conversation']
    add(`(${columns.map((name) => `${name} LIKE ? ESCAPE '\\'`).join(' OR ')})`, ...columns.map(() => pattern))
  }
  return { where, values }
}

/** Texts of rows are shorter, and SQLite takes no longer patterns. */
const MAX_SOUGHT = 8000

/** A text as itself within a LIKE pattern. */
function literal(text: string): string {
  return text
    .slice(0, MAX_SOUGHT)
    .replaceAll('\0', '')
    .replace(/[\\%_]/g, '\\$&')
}
