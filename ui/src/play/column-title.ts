import { nameChanges } from '../../../src/wire/describe-change.ts'
import { agentOf, type Column } from '../responses/column.ts'
import { isOf, variablesOf } from './changes.ts'
import type { AgentChoice } from './play-query.ts'

/**
 * `support`, `support · temperature 0.2`, `support · system_prompt: +Be brief.`
 *
 * @param agent agent of the thread, whose values are known
 */
export function columnTitle(column: Column, agent: AgentChoice | undefined): string {
  const { model, temperature, changes = [] } = column
  const variables = agent?.id === agentOf(column) ? variablesOf(agent) : []
  const traced = changes.map((change) => ({ ...change, before: variables.find((each) => isOf(change, each))?.value }))
  const parts = [
    model,
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(traced.length === 0 ? [] : [nameChanges(traced)]),
  ]
  return parts.join(' · ')
}
