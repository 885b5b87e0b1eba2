import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Trigger } from '../../../definition/definition.ts'
import { enqueueRequest } from '../../../durable/adapter-runs/enqueue-request.ts'
import { toInput } from '../../../durable/adapter-runs/to-input.ts'
import {
  type IdempotentRequest,
  requestChanges,
  requestKey,
  toRequest,
} from '../../../durable/idempotency/idempotent-requests.ts'
import { HostError } from '../../../errors.ts'
import { SECRET_OF, VISITS } from '../../../host/host.ts'
import { fieldsOf } from '../../../json.ts'
import { invalidJson, parseJson } from '../../bodies/json-body.ts'
import type { Adapter, StoreAdapterOptions } from '../adapter.ts'
import { keysOfRequest, type SentRequest, verifyRequest } from './verify-request.ts'

interface TriggerRoute {
  readonly Params: { readonly agent: string; readonly id: string }
  readonly Body: Buffer | undefined
}

/** Trigger of an agent in service, without its secret. */
type FoundTrigger = Omit<Trigger, 'secret'> & { readonly agent: string }

const NAME = 'TriggersAdapter'
const MAX_BYTES = 1024 * 1024
/** Time for which a request that comes again starts nothing. */
const KEPT_MS = 7 * 24 * 3_600_000

/** Starts runs for signed requests of other systems: `POST /triggers/<agent>/<id>`. */
export class TriggersAdapter implements Adapter {
  readonly checksItself = true
  readonly #options: StoreAdapterOptions

  constructor(options: StoreAdapterOptions) {
    this.#options = options
  }

  adapt(app: FastifyInstance): void {
    app.removeAllContentTypeParsers()
    // The signature is of the bytes: nothing is parsed before.
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post<TriggerRoute>(
      '/triggers/:agent/:id',
      { bodyLimit: MAX_BYTES, schema: { hide: true } },
      async (request, reply) => {
        const sent = { headers: request.headers, body: request.body ?? Buffer.alloc(0) }
        const trigger = this.#verify(request, sent)
        const value = readBody(sent.body)
        const { type, challenge } = fieldsOf(value)
        if (trigger.signature === 'slack' && type === 'url_verification') return { challenge }
        return reply.code(202).send({ id: await this.#start(trigger, sent, value) })
      },
    )
  }

  /** @throws HostError `UNAUTHORIZED`, the same for every reason */
  #verify({ params }: FastifyRequest<TriggerRoute>, sent: SentRequest): FoundTrigger {
    const { host } = this.#options
    const found = host.get(params.agent)?.triggers?.find(({ id }) => id === params.id)
    const secret = host[SECRET_OF](params.agent, params.id) ?? randomBytes(32).toString('base64')
    const isVerified = verifyRequest(found?.signature ?? 'github', sent, secret)
    if (!found || !isVerified)
      throw new HostError('UNAUTHORIZED', 'There is no such trigger, or the request is not signed for it')
    return { ...found, agent: params.agent }
  }

  /** Starts the run of a request once: the keys of the request and the run are one commit. */
  async #start(trigger: FoundTrigger, sent: SentRequest, value: unknown): Promise<string> {
    const { durableRuns, host } = this.#options
    const { agent, id, tenant = '', signature } = trigger
    const input = toInput(host.resolve(agent).agent, value)
    const [key, delivery] = keysOfRequest(signature, sent, value).map((key) =>
      JSON.stringify(['trigger', agent, id, key]),
    )
    const other = delivery === undefined ? undefined : toRequest(delivery, value, KEPT_MS)
    const runs = (await durableRuns.open()).of(tenant)
    const start = async (first: IdempotentRequest) => {
      const seen = other && (await runs.requests.find(other))
      if (seen) return seen.response_id
      const requests = other ? [first, other] : [first]
      const run = durableRuns.ids.next()
      const changes = requests.flatMap((request) => requestChanges(request, run))
      const claim = { changes, equal: [], absent: requests.map(({ hash }) => requestKey(hash)) }
      const data = { trigger: id }
      const parts = { service: durableRuns, host, adapter: NAME }
      const own = { ...input, id: run, agent, metadata: data, data, key: trigger.key, claim }
      await host[VISITS].onBehalf(tenant, trigger.key, () => enqueueRequest(parts, runs, own))
      return run
    }
    return runs.requests.once(key ?? '', value, async (run) => run, start, KEPT_MS)
  }
}

function readBody(body: Buffer): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw invalidJson('body', error)
  }
}
