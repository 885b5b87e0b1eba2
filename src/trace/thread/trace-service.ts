import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../errors.ts'
import { TraceReader } from '../trace-reader.ts'
import type { ThreadReply } from './service-thread.ts'
import type { TraceNews, TraceQueries, TraceQuery, TraceThreadData, WorkerRequest } from './worker-messages.ts'

/** Delay of the index after a write, unless a query comes before. */
const INDEX_AFTER_MS = 200
/** Interval at which the writes of other processes are indexed: of a command beside the server, which may not index them itself. */
const LOOK_AROUND_MS = 1000
/** Interval at which watchers receive the writes of other processes. */
const WATCH_MS = 500
const MAX_CHANGES = 200
/** Maximum size of the writes that wait for a quiet moment. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024

type Answers = { [Q in TraceQuery]: (argument: TraceQueries[Q][0]) => TraceQueries[Q][1] }

/** The thread that holds the trace folder: writing, indexing and reading wait for the disk here. */
class TraceService {
  readonly #open: () => TraceReader
  readonly #isEval: boolean
  #reader: TraceReader
  #answers: Answers
  #indexing: NodeJS.Timeout | undefined
  #watching: NodeJS.Timeout | undefined
  readonly #lookingAround = setInterval(() => this.#lookAround(), LOOK_AROUND_MS)
  #lastChange = 0
  #waitingBytes = 0
  #lastProblem = ''

  constructor(open: () => TraceReader, isEval: boolean) {
    this.#open = open
    this.#isEval = isEval
    this.#reader = open()
    this.#answers = this.#makeAnswers()
    parentPort?.on('message', (job: WorkerRequest) => this.#do(job))
    this.#indexSoon(0)
    say({ kind: 'ready' })
  }

  #makeAnswers(): Answers {
    const reader = this.#reader
    const { index } = reader
    const { runs } = index
    return {
      runs: (query) => runs.list(query),
      count: (filter) => runs.count(filter),
      run: (runId) => runs.get(runId),
      below: (runId) => runs.below(runId),
      events: (query) => reader.events(query),
      log: (query) => reader.log(query),
      neighbours: (runId) => runs.neighbours(runId),
      latestWith: (filter) => runs.latestWith(filter),
      clear: ({ agentId, tenant }) => {
        reader.clear(agentId, tenant)
        return undefined
      },
      ofUser: (query) => runs.ofUser(query),
      forget: (query) => reader.forget(query),
      metrics: (query) => runs.metrics(query),
      records: (ids) => ids.flatMap((id) => runs.find(id) ?? []),
      putRemote: (records) => {
        runs.putRemote(records)
        return undefined
      },
      interruptRemote: (server) => {
        runs.interruptRemote(server)
        return undefined
      },
      missingBytes: () => index.missingBytes(),
    }
  }

  #do(job: WorkerRequest): void {
    this.#attempt(() => this.#renewIfRemoved())
    switch (job.kind) {
      case 'write':
        this.#write(job)
        break
      case 'query':
        this.#answer(job)
        break
      case 'watch':
        this.#watch(job.isWatched)
        break
      case 'close':
        this.#close()
        break
    }
  }

  /** Starts over when the folder was removed: the open index would go on in a file without a name. */
  #renewIfRemoved(): void {
    if (this.#reader.isThere) return
    const removed = this.#reader
    this.#reader = this.#open()
    this.#answers = this.#makeAnswers()
    this.#lastChange = 0
    removed.close()
  }

  #write({ lines, count }: Extract<WorkerRequest, { kind: 'write' }>): void {
    let problem: string | undefined
    let size = 0
    const { files } = this.#reader
    for (const { agentId, tenant, bytes } of lines) {
      const name = this.#isEval ? files.evalNameOf(agentId, tenant) : files.nameOf(agentId, tenant)
      size += bytes.length
      try {
        files.append(name, bytes)
      } catch (error) {
        problem = messageOf(error)
      }
      this.#reader.noteGrown(name)
    }
    say({ kind: 'written', count, bytes: size, problem })
    this.#waitingBytes += size
    this.#indexLater()
  }

  /**
   * While there are watchers, the index follows at once. Otherwise it waits for a quiet moment, so that its cost is not taken
   * from the agents. Questions are answered from the files as they are in any case.
   */
  #indexLater(): void {
    if (!this.#watching && this.#indexing && this.#waitingBytes < MAX_WAITING_BYTES) {
      clearTimeout(this.#indexing)
      this.#indexing = undefined
    }
    this.#indexSoon(INDEX_AFTER_MS)
  }

  #answer({ id, name, argument }: Extract<WorkerRequest, { kind: 'query' }>): void {
    try {
      this.#reader.catchUp(this.#waitingBytes)
      this.#waitingBytes = 0
      const answer = this.#answers[name] as (argument: unknown) => unknown
      say({ kind: 'answer', id, value: answer(argument) })
    } catch (error) {
      this.#reader.index.removeIfDamaged(error)
      say({ kind: 'answer', id, error: messageOf(error) })
    }
  }

  #watch(isWatched: boolean): void {
    clearInterval(this.#watching)
    this.#watching = undefined
    if (!isWatched) return
    this.#attempt(() => {
      this.#lastChange = this.#reader.index.runs.lastChange()
    })
    this.#watching = setInterval(() => this.#indexSoon(0), WATCH_MS)
  }

  #close(): void {
    clearTimeout(this.#indexing)
    clearInterval(this.#watching)
    clearInterval(this.#lookingAround)
    this.#attempt(() => this.#reader.catchUp(this.#waitingBytes))
    this.#attempt(() => this.#reader.close())
    say({ kind: 'closed' })
    parentPort?.close()
  }

  /**
   * A command waits a moment for this: every interval counts, also one that ends a little early. Where writes leave no quiet moment, it
   * asks.
   */
  #lookAround(): void {
    this.#reader.lookAround()
    this.#attempt(() => {
      const { index } = this.#reader
      if (!index.isWanted) return
      this.#reader.catchUp(this.#waitingBytes)
      this.#waitingBytes = 0
      index.grant()
    })
    this.#indexSoon(0)
  }

  #indexSoon(delayMs: number): void {
    this.#indexing ??= setTimeout(() => {
      this.#indexing = undefined
      this.#attempt(() => {
        // One step at a time: questions and writes come in between.
        if (this.#reader.step()) this.#indexSoon(0)
        else this.#waitingBytes = 0
        this.#tellChanges()
      })
    }, delayMs)
  }

  #tellChanges(): void {
    if (!this.#watching) return
    const rows = this.#reader.index.runs.changes(this.#lastChange, MAX_CHANGES)
    if (rows.length === 0) return
    this.#lastChange = rows.at(-1)?.change ?? this.#lastChange
    say({ kind: 'changed', runs: rows.map(({ change, ...run }) => run) })
    if (rows.length === MAX_CHANGES) this.#indexSoon(0)
  }

  /** Runs an action that is repeated with the next write when it fails; the failure is reported once. */
  #attempt(act: () => void): void {
    try {
      act()
      this.#lastProblem = ''
    } catch (error) {
      this.#reader.index.removeIfDamaged(error)
      const problem = messageOf(error)
      if (problem !== this.#lastProblem) say({ kind: 'failed', problem })
      this.#lastProblem = problem
    }
  }
}

function say(news: TraceNews | ThreadReply): void {
  parentPort?.postMessage(news)
}

try {
  const { dir, maxBytes, isEval } = workerData as TraceThreadData
  const onTooLong = (problem: string) => say({ kind: 'skipped', problem })
  new TraceService(() => new TraceReader(dir, maxBytes, true, onTooLong), isEval)
} catch (cause) {
  // An error of libsql loses its message on the way to another thread.
  throw new Error(messageOf(cause))
}
