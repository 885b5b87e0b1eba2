import type { Registry } from 'prom-client'

/** Metric that is read when it is scraped. */
export interface GaugeSpec {
  /** In snake_case, `agent_host_...` for those of the library. */
  readonly name: string
  readonly help: string
  /** Returns the value at this moment. One that fails is shown as `Nan`. */
  readonly read: () => number | Promise<number>
}

export function addGauge(
  { Gauge }: typeof import('prom-client'),
  registry: Registry,
  { name, help, read }: GaugeSpec,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await valueOf(read))
    },
  })
}

/** The other metrics are there as well while a store is down. */
async function valueOf(read: GaugeSpec['read']): Promise<number> {
  try {
    return await read()
  } catch {
    return NaN
  }
}
