import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { isEnd } from '../../../../durable/runs/steps.ts'
import { recordAfter } from '../output/output.ts'
import type { InputItem } from '../routes/schema.ts'
import { findResponse } from '../runs/find-response.ts'
import { toRecord } from '../runs/to-record.ts'

/** Items of one turn, as they are stored. */
export interface TurnItems {
  readonly input: readonly InputItem[]
  readonly output: readonly InputItem[]
  /** True while their run is in progress. */
  readonly isRunning: boolean
}

/** Reads the items of a response, or those added to a conversation under this id; undefined if there are none. */
export async function readItems(runs: DurableRuns, turnId: string): Promise<TurnItems | undefined> {
  const stored = await findResponse(runs, turnId)
  if (!stored) {
    const items = (await runs.conversations.turn(turnId))?.items
    return items && { input: items as readonly InputItem[], output: [], isRunning: false }
  }
  const { output, created_at } = recordAfter(toRecord(stored.id, stored.facts), stored.steps)
  return {
    input: (await runs.store.items(stored, 0, stored.inputs)) as InputItem[],
    output: output.map((item) => ({ ...item, created_at })),
    isRunning: !isEnd(stored.steps.at(-1)),
  }
}

/** Items of a turn, those of a run in progress excepted. */
export async function itemsOfTurn(runs: DurableRuns, turnId: string): Promise<readonly InputItem[]> {
  const items = await readItems(runs, turnId)
  return items && !items.isRunning ? [...items.input, ...items.output] : []
}
