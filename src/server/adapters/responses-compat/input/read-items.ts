import { isEnd } from '../../../../durable/runs/steps.ts'
import { recordAfter } from '../output/output.ts'
import type { InputItem } from '../routes/schema.ts'
import { findResponse, type ResponseRuns } from '../runs/response-runs.ts'

/** Items of one turn, as they are stored. */
export interface TurnItems {
  readonly input: readonly InputItem[]
  readonly output: readonly InputItem[]
  /** True while their run is in progress. */
  readonly isRunning: boolean
}

/** Reads the items of a response, or those added to a conversation under this id; undefined if there are none. */
export async function readItems(runs: ResponseRuns, turnId: string): Promise<TurnItems | undefined> {
  const stored = await findResponse(runs, turnId)
  if (!stored) {
    const items = (await runs.conversations.turn(turnId))?.items
    return items && { input: items as readonly InputItem[], output: [], isRunning: false }
  }
  const { output, created_at } = recordAfter(stored.facts, stored.steps)
  return {
    input: await runs.store.items(stored, 0, stored.inputs),
    output: output.map((item) => ({ ...item, created_at })),
    isRunning: !isEnd(stored.steps.at(-1)),
  }
}
