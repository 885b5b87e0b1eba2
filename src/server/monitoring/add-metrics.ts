import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import type { AgentHost } from '../../host/host.ts'
import { addGauge, type GaugeSpec } from '../../telemetry/add-gauge.ts'
import { addProcessMetrics } from '../../telemetry/process-metrics.ts'
import { RunMetrics } from '../../telemetry/run-metrics.ts'
import { describeRoutes } from '../openapi/describe-routes.ts'
import type { EventStreams } from '../streams/event-streams.ts'

export interface MetricsOptions {
  /** Name of this server, a label of every series: processes that share a port are told apart. */
  readonly server: string
  /** Read once all adapters are there. */
  readonly gaugesOfAdapters: () => readonly GaugeSpec[]
  /** Undefined where everybody may read them. */
  readonly door?: onRequestHookHandler[] | undefined
}

/**
 * Adds `GET /metrics` in the text format of Prometheus.
 *
 * @returns a function that ends the measuring
 */
export async function addMetrics(
  app: FastifyInstance,
  host: AgentHost,
  streams: EventStreams,
  { server, gaugesOfAdapters, door = [] }: MetricsOptions,
): Promise<() => void> {
  const prometheus = await import('prom-client')
  const registry = new prometheus.Registry()
  registry.setDefaultLabels({ server })
  const runs = new RunMetrics(prometheus, registry, host)
  addServerMetrics(prometheus, registry, host, streams)
  const delay = addProcessMetrics(prometheus, registry)
  // Not before: a server that cannot be built would leave it behind.
  app.addHook('onReady', async () => {
    delay.enable()
    for (const gauge of gaugesOfAdapters()) addGauge(prometheus, registry, gauge)
  })
  const stopListening = host.onRunEnd((end) => runs.add(end))
  // Each scrape would have a line in the log.
  app.route({
    ...ROUTES.getMetrics(async (_request, reply) => {
      runs.forgetRemovedAgents()
      return reply.type(registry.contentType).send(await registry.metrics())
    }),
    onRequest: door,
    logLevel: 'warn',
  })
  return () => {
    stopListening()
    delay.disable()
  }
}

const ROUTES = describeRoutes(
  { tag: 'Server' },
  {
    getMetrics: {
      method: 'GET',
      path: '/metrics',
      scope: 'debug',
      summary: 'Metrics in the text format of Prometheus',
      content: { 'text/plain': Type.String() },
    },
  },
)

function addServerMetrics(
  prometheus: typeof import('prom-client'),
  registry: Registry,
  host: AgentHost,
  streams: EventStreams,
): void {
  const gauge = (name: string, help: string, read: () => number) => addGauge(prometheus, registry, { name, help, read })
  gauge('agent_host_runs_in_progress', 'Runs that are under way.', () => host.runningCount)
  gauge('agent_host_event_streams_open', 'Streams of server-sent events that are open.', () => streams.size)
  gauge('agent_host_agents', 'Agents that are registered.', () => host.list().length)
}
