import type { Adapter, AdapterOptions, FastifyInstance } from 'agent-host'

/** Serves agents over the Messages API. */
export class MessagesAdapter implements Adapter {
  readonly #options: AdapterOptions

  constructor(options: AdapterOptions) {
    this.#options = options
  }

  adapt(_app: FastifyInstance): void {
    this.#options.log.debug('MessagesAdapter has no routes yet.')
  }
}
