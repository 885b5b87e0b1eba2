import type { Change, RecordStore } from '../store/record-store.ts'
import { walkStore } from '../store/walk-store.ts'
import type { ForgetQuery } from '../trace/run-index/trace-query.ts'
import type { ForgottenHere } from './forget-here.ts'
import { askForget } from './remote-questions.ts'
import { readEntry, readReplicas, runLog } from './replica-rows.ts'

export interface ForgottenElsewhere {
  readonly removed: readonly ForgottenHere[]
  /** Names of servers whose folders have, or may have, traces and tapes of the user. */
  readonly left: readonly string[]
}

/** Has the other servers that share a store forget a user, and removes the summaries of runs that all of them have published. */
export async function forgetRuns(store: RecordStore, wanted: ForgetQuery): Promise<ForgottenElsewhere> {
  const removed: ForgottenHere[] = []
  const left: string[] = []
  for (const { id, name } of await readReplicas(store)) {
    if (id === store.serverId) continue
    const isAlive = await store.isServerAlive(id)
    const reply = isAlive ? await askForget(store, id, wanted) : undefined
    if (reply) removed.push(reply)
    const published = await removePublished(store, id, wanted)
    if (!reply && (isAlive || published > 0)) left.push(name)
  }
  await removePublished(store, store.serverId, wanted)
  return { removed, left }
}

/** @returns the number of summaries */
async function removePublished(store: RecordStore, id: string, { tenant, user, runIds }: ForgetQuery): Promise<number> {
  const ids = new Set(runIds)
  let count = 0
  for await (const page of walkStore(store, `${runLog(id)}:`)) {
    const theirs = page.filter(([, text]) => {
      const summary = readEntry(text)?.record.summary
      if (!summary) return false
      const { run_id, parent_run_id, continues, replays } = summary
      // As the index of traces tells them: nobody knows whose one without its beginning is.
      const isTheirs = (summary.user === user || summary.user === '') && (summary.tenant ?? '') === tenant
      if (isTheirs) ids.add(run_id)
      return isTheirs || [run_id, parent_run_id, continues, replays].some((each) => each !== null && ids.has(each))
    })
    if (theirs.length > 0) await store.commit(theirs.map(([key]): Change => [key, undefined]))
    count += theirs.length
  }
  return count
}
