import { Opening } from '../async.ts'
import { messageOf } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import type { LazyStore } from '../store/lazy-store.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RemoteRuns, RemoteTape } from '../trace/remote-runs.ts'
import { isBeginning } from '../trace/run-index/run-summary.ts'
import type { EventsQuery } from '../trace/run-index/trace-query.ts'
import type { Traces } from '../trace/traces.ts'
import type { Here } from './forget-here.ts'
import { forgetOldServers } from './forget-old-servers.ts'
import { readRemoteEvents, remoteTape } from './read-remote.ts'
import { answerQuestions } from './remote-questions.ts'
import { introduction, NEWS } from './replica-rows.ts'
import { describeSkipped, RunFeed, type RunSink } from './run-feed.ts'
import { RunPublisher } from './run-publisher.ts'

export interface SharedRunsOptions {
  readonly host: Pick<AgentHost, 'onEvent' | 'onRunEnd' | 'abortAllOf'>
  readonly traces: Traces
  /** Absolute. */
  readonly projectDir: string
  readonly deleteTapes?: Here['deleteTapes']
  /** Name of this server. */
  readonly name: string
  readonly records: LazyStore
  readonly log: Log
}

/** Shortest interval at which the logs of others are read. */
const REFRESH_MS = 250
/** The same while the store fails. */
const RETRY_MS = 10_000
const FORGET_EVERY_MS = 60 * 60 * 1000

/**
 * Runs of all servers that share a store: publishes those of this server, and adds those of others to its traces. The store
 * holds the summary of a run; its events stay with the server that traced them.
 */
export class SharedRuns implements RemoteRuns {
  readonly #options: SharedRunsOptions
  readonly #publisher: RunPublisher
  readonly #sink: RunSink
  readonly #stops: (() => unknown)[] = []
  readonly #opening = new Opening(() => this.#introduce())
  #refreshing: Promise<void> | undefined
  #nextRefreshMs = 0
  #followers = 0
  #newsTimer: NodeJS.Timeout | undefined

  constructor(options: SharedRunsOptions) {
    const { host, traces, name, log } = options
    this.#options = options
    this.#publisher = new RunPublisher(
      name,
      (ids) => traces.query('records', ids),
      async () => (await this.#opening.open()).store,
      log,
    )
    this.#sink = {
      put: (records) => {
        const kept = records.filter(({ summary }) => !traces.ignores(summary.run_id))
        return traces.query('putRemote', kept)
      },
      interrupt: (server) => traces.query('interruptRemote', server),
      skip: (...skipped) => log.warn(describeSkipped(...skipped)),
    }
    this.#stops.push(
      host.onEvent((event) => isBeginning(event) && event.run_id !== null && this.#publisher.note(event.run_id)),
      host.onRunEnd(({ runId }) => this.#publisher.note(runId, true)),
    )
    this.#opening.open().catch((error) => this.#report(error))
  }

  async refresh(): Promise<void> {
    if (performance.now() < this.#nextRefreshMs) return
    this.#refreshing ??= this.#readOn().finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
  }

  settled(): Promise<unknown> {
    return Promise.all([this.#publisher.settled(), this.#refreshing])
  }

  follow(): () => void {
    this.#followers++
    void this.refresh()
    return () => this.#followers--
  }

  async events(server: string, query: EventsQuery): ReturnType<RemoteRuns['events']> {
    try {
      return await readRemoteEvents((await this.#opening.open()).store, server, query)
    } catch (error) {
      this.#report(error)
      const elsewhere = `The events are on the server '${server}', and the shared store, which relays them, does not answer.`
      return { events: [], hasMore: false, isElsewhere: true, elsewhere }
    }
  }

  tape(server: string, runId: string): RemoteTape {
    return remoteTape(async () => (await this.#opening.open()).store, server, runId)
  }

  /** Tells of the runs that have ended since. */
  async close(): Promise<void> {
    await this.#publisher.close()
    clearTimeout(this.#newsTimer)
    await this.#refreshing
    await this.#opening.whenOpen()
    for (const stop of this.#stops.splice(0)) stop()
  }

  async #introduce(): Promise<{ store: RecordStore; feed: RunFeed }> {
    const { name, records, ...here } = this.#options
    const store = await records.open()
    await store.commit([introduction(store.serverId, name)])
    const report = (error: unknown) => this.#report(error)
    const forget = () => forgetOldServers(store, Date.now()).catch(report)
    const forgetting = setInterval(forget, FORGET_EVERY_MS).unref()
    void forget()
    this.#stops.push(
      () => clearInterval(forgetting),
      answerQuestions(store, here, report),
      store.watch([NEWS], () => this.#onNews()),
    )
    return { store, feed: new RunFeed(store) }
  }

  /** Called for every commit of every server: it waits for more, and does nothing while no page is open. */
  #onNews(): void {
    if (this.#followers === 0) return
    this.#newsTimer ??= setTimeout(() => {
      this.#newsTimer = undefined
      void this.refresh()
    }, REFRESH_MS + 1).unref()
  }

  async #readOn(): Promise<void> {
    try {
      await (await this.#opening.open()).feed.readOn(this.#sink)
      this.#nextRefreshMs = performance.now() + REFRESH_MS
    } catch (error) {
      this.#nextRefreshMs = performance.now() + RETRY_MS
      this.#report(error)
    }
  }

  #report(error: unknown): void {
    this.#options.log.warn(`Runs of other servers are not shown: ${messageOf(error)}`)
  }
}
