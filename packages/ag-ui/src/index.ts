import type { Adapter, AdapterOptions, FastifyInstance } from 'agent-host'

/** Serves agents over AG-UI. */
export class AgUiAdapter implements Adapter {
  readonly #options: AdapterOptions

  constructor(options: AdapterOptions) {
    this.#options = options
  }

  adapt(_app: FastifyInstance): void {
    this.#options.log.debug('AgUiAdapter has no routes yet.')
  }
}
