import type { FastifyInstance } from 'fastify'
import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import type { Redact } from '../trace/redact.ts'
import { addMetrics } from './add-metrics.ts'
import type { EventStreams } from './event-streams.ts'
import { isLoopback } from './host-check.ts'
import type { ServerOptions } from './options.ts'

export interface TelemetryOptions {
  readonly options: ServerOptions
  readonly host: AgentHost
  readonly streams: EventStreams
  readonly log: Log
  readonly redact: Redact
}

/**
 * Starts what was asked for: spans by the environment, metrics by an option.
 *
 * @returns a function that ends it, when the host is closed
 * @throws HostError `OPTION_INVALID`
 */
export async function startTelemetry(
  app: FastifyInstance,
  { options, host, streams, log, redact }: TelemetryOptions,
): Promise<() => Promise<void>> {
  const stopTracing = await startTracing(host, log, redact)
  const stopMetrics = options.metrics ? await addMetrics(app, host, streams) : () => {}
  if (options.metrics && !isLoopback(options.host)) {
    log.warn(`/metrics asks for no key: whoever reaches ${options.host} can read it.`)
  }
  return async () => {
    stopMetrics()
    await stopTracing()
  }
}
