import type { AssembledProject } from '../../assembly/opened-project.ts'
import { forgetStored } from '../../durable/forget/forget-stored.ts'
import { badRequest } from '../../errors.ts'
import { type ForgottenHere, forgetHere } from '../../replicas/forget-here.ts'
import { forgetRuns } from '../../replicas/forget-runs.ts'
import { MAX_USER_CHARS } from '../../wire/schemas.ts'
import { type ForgottenUser, forgetMemories } from './forget-memories.ts'

/** Numbers of things that were removed. */
export interface Forgotten {
  /** Runs that were in progress outside of the store. */
  readonly runs_ended: number
  readonly responses: number
  readonly conversations: number
  /** Entries of memories. */
  readonly memories: number
  /** Other records that modules kept, and conversations of MCP. */
  readonly records: number
  /** Runs with traces. */
  readonly traces: number
  readonly tapes: number
  /** Sentences about what was not reached, with what to do. */
  readonly left: readonly string[]
}

/** @throws HostError `REQUEST_INVALID` */
export function checkUser(user: string): void {
  if (user !== '' && user.length <= MAX_USER_CHARS) return
  throw badRequest(`user: must have 1 to ${MAX_USER_CHARS} characters`)
}

/**
 * Deletes the data of one user: ends their runs, then removes what the store, the memories of agents, the traces and the tapes have, also those of
 * other servers that share the store.
 *
 * @throws HostError `STORE_UNAVAILABLE`, `RECORD_UNREADABLE`
 */
export async function forgetUser(project: AssembledProject, forgotten: ForgottenUser): Promise<Forgotten> {
  const { host, traces, deleteTapes } = project
  const removeHere = (runIds: readonly string[]) =>
    forgetHere({ host, traces, deleteTapes, projectDir: host.projectDir }, { ...forgotten, runIds })
  const first = await removeHere([])
  const stored = project.durableRuns.hasStore ? await forgetInStore(project, forgotten, removeHere) : NOTHING
  const here = [first, ...stored.removed]
  const sum = (of: keyof (typeof here)[number]) => here.reduce((total, each) => total + each[of], 0)
  const { responses, conversations, memories, records, left } = stored
  const counts = { responses, conversations, memories, records, traces: sum('traces'), tapes: sum('tapes') }
  return { runs_ended: sum('ended'), ...counts, left }
}

const NOTHING = { responses: 0, conversations: 0, memories: 0, records: 0, removed: [], left: [] }

async function forgetInStore(
  project: AssembledProject,
  { tenant, user }: ForgottenUser,
  removeHere: (runIds: readonly string[]) => Promise<ForgottenHere>,
) {
  const runs = (await project.durableRuns.open()).of(tenant)
  const store = await project.openRecords()
  try {
    // Others end their runs before their records go.
    const first = await forgetRuns(store, { tenant, user, runIds: [] })
    const memories = await forgetMemories(project.host, { tenant, user })
    const { conversations, damaged, records, runs: ids } = await forgetStored(runs, store, user)
    const runIds = ids.map((id) => id.slice(id.indexOf('_') + 1))
    // Before their published summaries go: the server publishes what its traces still have.
    const own = await removeHere(runIds)
    const { removed, left } = await forgetRuns(store, { tenant, user, runIds })
    return {
      responses: ids.length,
      conversations: conversations.length,
      memories,
      records,
      removed: [...first.removed, own, ...removed],
      left: [...left.map(nameServer), ...[...damaged].map(nameRecord)],
    }
  } finally {
    await store.close()
  }
}

function nameServer(name: string): string {
  return `Server '${name}' did not answer. Run agent-host store forget in its folder.`
}

function nameRecord(key: string): string {
  return `The record '${key}' is damaged, and says the name. Look at it.`
}
