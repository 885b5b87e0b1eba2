import { useEffect } from 'preact/hooks'
import { agentOf, type Column } from '../responses/column.ts'
import { settle, variablesOf } from './changes.ts'
import { useAgentChoice, useCalledAgents } from './play-query.ts'

interface SettledColumnProps {
  readonly column: Column
  readonly onColumn: (column: Column) => void
}

/** Keeps the changes of a column in step with its agents; shows nothing. */
export function SettledColumn({ column, onColumn }: SettledColumnProps) {
  const agent = useAgentChoice(agentOf(column))
  const called = useCalledAgents(agentOf(column))
  useEffect(() => {
    const settled = agent ? settle(column, variablesOf(agent, called)) : column
    if (settled !== column) onColumn(settled)
  })
  return null
}
