import { fieldsOf, parseJson } from '../../json.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { walkStore } from '../../store/walk-store.ts'
import { branchKey, emptyTurn, listNextTurns, TURNS } from '../conversations/conversation-tree.ts'
import type { DurableRuns } from '../durable-runs.ts'
import { tenantPart } from '../rows/tenant-part.ts'
import { RUN_PREFIX } from '../runs/run-ids.ts'
import { RUNS, rowKey } from '../runs/run-keys.ts'

/** Records that were removed. */
export interface ForgottenRecords {
  /** Ids of the stored runs: each is a response, or what a run of another adapter is kept as. */
  readonly runs: string[]
  readonly conversations: string[]
  /** Number of records of modules that named the user in a field `user`, and of conversations of MCP. */
  records: number
  /** Keys of records that say the name, and are too damaged to tell whose they are. */
  readonly damaged: Set<string>
}

const MODULES = 'module:'
const MCP_CONVERSATIONS = 'mcp-conversation:'

/**
 * Removes all that the store has of a user of a tenant, until a look finds nothing more: a decision may have had a run go on meanwhile. Runs
 * are ended before the first record goes. A run that names no user, and goes on from one of theirs, is theirs.
 *
 * @param runs of the tenant
 * @param records of the whole store
 * @throws HostError `STORE_UNAVAILABLE`, `RECORD_UNREADABLE`
 */
export async function forgetStored(runs: DurableRuns, records: RecordStore, user: string): Promise<ForgottenRecords> {
  const forgetting = new Forgetting(runs, tenantPart(records, runs.tenant), user)
  while (await forgetting.pass());
  await records.purge()
  return forgetting.forgotten
}

class Forgetting {
  readonly forgotten: ForgottenRecords = { runs: [], conversations: [], records: 0, damaged: new Set() }
  readonly #runs: DurableRuns
  readonly #records: RecordStore
  readonly #user: string

  constructor(runs: DurableRuns, records: RecordStore, user: string) {
    this.#runs = runs
    this.#records = records
    this.#user = user
  }

  /** @returns false when nothing was there */
  async pass(): Promise<boolean> {
    const turns = await this.#findTurns()
    await this.#endHere(turns)
    const conversations = await this.#findConversations(turns)
    const records = await this.#findRecords()
    await this.#endRuns(turns)
    for (const id of turns) if (await this.#runs.delete(id)) this.forgotten.runs.push(id)
    for (const id of conversations) {
      await this.#runs.conversations.delete(id, (runId) => this.#runs.store.has(runId))
      this.forgotten.conversations.push(id)
    }
    for (const id of turns) await this.#emptyTurn(id)
    if (records.length > 0) await this.#records.commit(records.map((key) => [key, undefined]))
    this.forgotten.records += records.filter((key) => !key.startsWith('mcp-title:')).length
    return turns.size + conversations.size + records.length > 0
  }

  /**
   * Ends the runs of this process that are theirs, and adds them to the turns: each is stored with its end, perhaps at this moment. One of
   * another user that goes on from a turn of theirs is linked to it now: otherwise it would be stored with all that was said before.
   */
  async #endHere(turns: Set<string>): Promise<void> {
    for (const run of this.#runs.running.values()) {
      const { previousId, options } = run.facts
      const isNext = previousId !== null && turns.has(previousId)
      if (options.user === this.#user || (options.user === undefined && isNext)) {
        // One that cannot be stored is ended, too.
        await run.cancel('The data of its user is deleted.').catch(() => {})
        turns.add(run.id)
      } else if (isNext) await this.#records.commit([[branchKey(previousId, run.id), '1']])
    }
  }

  async #endRuns(ids: ReadonlySet<string>): Promise<void> {
    for (const id of ids) {
      const state = await this.#runs.store.state(id)
      if (state && !state.end) await this.#runs.cancel(id)
    }
  }

  /** Ids of the turns of the user, with or without a run. */
  async #findTurns(): Promise<Set<string>> {
    const turns = new Set<string>()
    for await (const [key] of this.#rowsOf(RUNS, userOfRun)) turns.add(key.slice(RUNS.length))
    for await (const [key] of this.#rowsOf(TURNS, userOfTurn)) turns.add(key.slice(TURNS.length))
    // Grows while it is read.
    for (const id of turns) {
      for (const next of await listNextTurns(this.#records, id)) {
        if (next.startsWith(RUN_PREFIX) && (await this.#namedBy(next)) === undefined) turns.add(next)
      }
    }
    return turns
  }

  /** Conversations in which no turn names another user. Their turns join those of the user. */
  async #findConversations(turns: Set<string>): Promise<Set<string>> {
    const found = new Set<string>()
    for (const id of [...turns]) {
      const { conversation } = (await this.#runs.conversations.turn(id)) ?? {}
      const row = conversation === undefined ? undefined : await this.#runs.conversations.find(conversation)
      if (!row || found.has(row.id)) continue
      const ids = await this.#runs.conversations.turnIds(row)
      const users = await Promise.all(ids.map((turnId) => this.#namedBy(turnId)))
      if (users.some((user) => user !== undefined && user !== this.#user)) continue
      found.add(row.id)
      for (const turnId of ids) turns.add(turnId)
    }
    return found
  }

  /** The user that the run of a turn names, also one whose response was deleted. */
  async #namedBy(turnId: string): Promise<unknown> {
    const [run, turn] = await this.#records.get([rowKey(turnId), TURNS + turnId])
    return userOfRun(parseJson(run ?? '')) ?? userOfTurn(parseJson(turn ?? ''))
  }

  /** A turn that others continue stays, as a link alone. */
  async #emptyTurn(id: string): Promise<void> {
    const { conversation } = (await this.#runs.conversations.turn(id)) ?? {}
    if (conversation !== undefined) await this.#runs.conversations.removeRest(conversation, id)
    await emptyTurn(this.#records, id)
  }

  /** Keys of other records whose value names the user. */
  async #findRecords(): Promise<string[]> {
    const keys: string[] = []
    for await (const [key] of this.#rowsOf(MODULES, userOfTurn)) keys.push(key)
    for await (const [key, { agentId }] of this.#rowsOf(MCP_CONVERSATIONS, userOfTurn)) {
      keys.push(key, `mcp-title:${encodeURIComponent(String(agentId))}:${key.slice(MCP_CONVERSATIONS.length)}`)
    }
    return keys
  }

  async *#rowsOf(prefix: string, userOf: (row: unknown) => unknown): AsyncGenerator<[string, Record<string, unknown>]> {
    const quoted = JSON.stringify(this.#user)
    for await (const page of walkStore(this.#records, prefix)) {
      for (const [key, text] of page) {
        // Few rows have the name: the others need not be parsed.
        if (!text.includes(quoted)) continue
        const row = parseJson(text)
        if (row === undefined) this.forgotten.damaged.add(key)
        else if (userOf(row) === this.#user) yield [key, fieldsOf(row)]
      }
    }
  }
}

function userOfRun(row: unknown): unknown {
  return fieldsOf(fieldsOf(fieldsOf(row).facts).options).user
}

function userOfTurn(row: unknown): unknown {
  return fieldsOf(row).user
}
