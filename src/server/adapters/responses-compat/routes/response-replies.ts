import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StepLog } from '../../../../durable/runs/read-run.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { replyFor } from '../../../replies/error-replies.ts'
import { signalOfLeaving, streamAnswer } from '../../../streams/serve-turn.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { EventWriter, eventStreamOf } from '../output/event-writer.ts'
import { recordAfter } from '../output/output.ts'
import { sendSteps } from '../output/send-steps.ts'
import type { TenantParts } from '../runs/tenant-parts.ts'
import { toRecord } from '../runs/to-record.ts'
import type { ExtendedRecord } from './schema.ts'

/** Replies of one dialect that show a response: its record, or its events. */
export class ResponseReplies {
  readonly #adapter: AdapterOptions
  readonly #dialect: Dialect
  readonly #partsOf: (request: FastifyRequest) => TenantParts
  /** Records of large runs that have ended, as long as their steps are in use: made once for all readers. */
  readonly #records = new WeakMap<StoredRun['steps'], ExtendedRecord>()

  constructor(adapter: AdapterOptions, dialect: Dialect, partsOf: (request: FastifyRequest) => TenantParts) {
    this.#adapter = adapter
    this.#dialect = dialect
    this.#partsOf = partsOf
  }

  /** The record as it is now; `queued` is a status of one dialect alone. */
  toRecord(stored: StoredRun): ExtendedRecord {
    const { id, facts, steps, isQueued } = stored
    const record = this.#known(stored) ?? recordAfter(toRecord(id, facts), steps, this.#dialect)
    return isQueued && this.#dialect.isExtended ? { ...record, status: 'queued' } : record
  }

  #known({ id, facts, steps, largeLength }: StoredRun): ExtendedRecord | undefined {
    if (largeLength === undefined) return undefined
    const record = this.#records.get(steps) ?? recordAfter(toRecord(id, facts), steps, this.#dialect)
    this.#records.set(steps, record)
    return record
  }

  /**
   * Sends the events again, and then those that come.
   *
   * @param after number of the last event that the client has
   */
  join(stored: StoredRun, after: number, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const log = this.#partsOf(request).runs.read(stored, signalOfLeaving(reply))
    return this.send(log, request, reply, after, this.#known(stored))
  }

  /** Sends the events of a response. */
  send(
    log: StepLog,
    request: FastifyRequest,
    reply: FastifyReply,
    after = 0,
    known?: ExtendedRecord,
  ): Promise<unknown> {
    const { options, streams, describeFailure } = this.#adapter
    const writer = new EventWriter(toRecord(log.id, log.facts), after, eventStreamOf(this.#dialect), known)
    return streamAnswer(request, reply, streams, {
      keepAlive: () => ': keep-alive\n\n',
      keepAliveMs: options.streamingTimeout * 1000,
      send: (stream) => sendSteps(log, writer, stream),
      failure: (error) => writer.failure(replyFor(error, describeFailure).detail),
    })
  }
}
