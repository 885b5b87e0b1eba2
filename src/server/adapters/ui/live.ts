import type { FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../../../errors.ts'
import type { Prices } from '../../../prices/prices.ts'
import { mapContents } from '../../../trace/run-columns.ts'
import type { ListedRun } from '../../../trace/run-index/run-row.ts'
import type { Traces } from '../../../trace/traces.ts'
import type { QuestionNews } from '../../../wire/question.ts'
import type { EventStream } from '../../streams/event-streams.ts'
import type { DebugAdapterOptions } from '../adapter.ts'
import { withPrices } from './queries/price-models.ts'
import { contentFor, sees, type Viewer, viewerOf } from './viewer.ts'

const KEEP_ALIVE_MS = 15_000

type LiveSources = Pick<
  DebugAdapterOptions,
  'host' | 'agents' | 'traces' | 'streams' | 'durableRuns' | 'servesInbox' | 'questions' | 'log'
> & {
  readonly prices: Prices
}

/**
 * News for the page as server-sent events: `runs` with those that have begun, gone on or ended, `agents` when an agent
 * or its file has changed, `approvals` when the inbox of the viewer's tenant has, `tracing` when events were lost, `questions` with the state of one at the terminal. Listeners
 * then query the data that they show.
 */
export class LiveUpdates {
  readonly #sources: LiveSources
  readonly #open = new Map<EventStream, Viewer>()
  /** Functions that end the watch of an inbox. */
  readonly #inboxes = new Map<EventStream, () => void>()
  #stop: (() => void)[] = []
  #dropped = 0

  constructor(sources: LiveSources) {
    this.#sources = sources
  }

  open(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const stream = this.#sources.streams.open(reply, {
      keepAlive: () => ': still there\n\n',
      keepAliveMs: KEEP_ALIVE_MS,
      onLeave: () => this.#remove(stream),
      isEndless: true,
    })
    this.#open.set(stream, viewerOf(request))
    if (this.#open.size === 1) this.#listen()
    void this.#watchInbox(stream)
    stream.send('event: ready\ndata: {}\n\n')
    for (const news of this.#sources.questions?.latest() ?? []) this.#tellOfQuestion(news)
    return reply
  }

  #remove(stream: EventStream): void {
    this.#open.delete(stream)
    this.#inboxes.get(stream)?.()
    this.#inboxes.delete(stream)
    if (this.#open.size === 0) for (const stop of this.#stop.splice(0)) stop()
  }

  /** The inbox of a tenant is that of its own runs alone: those of all tenants are in no list. */
  async #watchInbox(stream: EventStream): Promise<void> {
    const { servesInbox, durableRuns, log } = this.#sources
    const viewer = this.#open.get(stream)
    if (!servesInbox || !viewer) return
    try {
      const runs = await durableRuns.open()
      if (!this.#open.has(stream)) return
      const tell = () => this.#sendTo(stream, 'approvals', {})
      this.#inboxes.set(stream, runs.of(viewer.tenant ?? '').approvals.watch(tell))
    } catch (error) {
      log.warn(`The debug UI cannot show changes of approvals: ${messageOf(error)}`)
    }
  }

  #listen(): void {
    const { host, agents, traces, questions } = this.#sources
    const tellAgents = () => this.#send('agents', () => ({}))
    this.#stop = [host.onChange(tellAgents), agents.history.onLoad(tellAgents)]
    if (questions) this.#stop.push(questions.watch((news) => this.#tellOfQuestion(news)))
    if (traces) this.#stop.push(traces.watch((runs) => void this.#tellRuns(runs, traces)))
  }

  /** Its files are those of the whole project. */
  #tellOfQuestion(news: QuestionNews): void {
    this.#send('questions', ({ seesContent, tenant = '', agents }) =>
      seesContent && tenant === '' && !agents ? news : undefined,
    )
  }

  async #tellRuns(changed: readonly ListedRun[], traces: Traces): Promise<void> {
    await this.#sources.prices.refresh()
    this.#send('runs', (viewer) => {
      const runs = changed
        .filter((run) => run.eval_case === null && sees(viewer, run))
        .map((run) => this.#view(run, viewer))
      return runs.length === 0 ? undefined : { runs }
    })
    const { dropped, problem } = traces.counts()
    if (dropped !== this.#dropped) {
      // The number is that of all tenants.
      this.#send('tracing', (viewer) =>
        viewer.tenant === undefined ? { dropped, problem: contentFor(viewer, problem) } : undefined,
      )
    }
    this.#dropped = dropped
  }

  #view(run: ListedRun, { seesContent }: Viewer): object {
    const priced = { ...withPrices(run, this.#sources.prices), tenant: undefined }
    return seesContent ? priced : { ...priced, ...mapContents(run, () => null) }
  }

  /** @param dataFor returns undefined for a viewer that the news does not concern */
  #send(event: string, dataFor: (viewer: Viewer) => object | undefined): void {
    for (const [stream, viewer] of this.#open) {
      const data = dataFor(viewer)
      if (data) this.#sendTo(stream, event, data)
    }
  }

  #sendTo(stream: EventStream, event: string, data: object): void {
    try {
      stream.send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    } catch {
      // The client does not read: it fetches what it missed when it reconnects.
      stream.cut()
    }
  }
}
