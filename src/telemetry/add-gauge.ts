import type { Registry } from 'prom-client'

/** Adds a metric that is read when somebody looks. */
export function addGauge(
  { Gauge }: typeof import('prom-client'),
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
