import type { BasicTracerProvider, SpanExporter } from '@opentelemetry/sdk-trace-node'
import { settlesWithin } from '../async.ts'
import { badOption } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import type { Log } from '../protocols/log.ts'
import { proxyAgentFor } from '../proxy/proxy-agent-for.ts'
import type { Redact } from '../redaction/redact.ts'
import { VERSION } from '../version.ts'
import { loadOpenTelemetry, type OpenTelemetry, OTLP_PROTOCOLS, type OtlpProtocol } from './load-opentelemetry.ts'
import { reportFailures } from './report-failures.ts'
import { TraceIds } from './trace-ids.ts'

/** Time that the collector gets to take the last spans. */
const FLUSH_MS = 2000

/**
 * Sends the calls of agents as OpenTelemetry spans if the environment names an endpoint; otherwise loads nothing. The
 * libraries read the rest of the environment (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`, ...) themselves.
 *
 * @returns a function that flushes and stops it
 * @throws HostError `OPTION_INVALID` when the packages are not installed, the endpoint is no address, or the protocol is unknown
 */
export async function startTracing(
  host: AgentHost,
  server: string,
  { log, redact }: { readonly log: Log; readonly redact: Redact },
): Promise<() => Promise<void>> {
  const variable = endpointVariable(process.env)
  if (!variable) return async () => {}
  const endpoint = readEndpoint(variable)
  const otel = await loadOpenTelemetry(host.projectDir, variable, readProtocols(process.env))
  const traceIds = new TraceIds(new otel.sdk.RandomIdGenerator())
  const proxyAgent = proxyAgentFor(new URL(endpoint))
  const connection = proxyAgent && { httpAgentOptions: () => proxyAgent }
  const exporter = reportFailures(new otel.exporter.OTLPTraceExporter(connection), endpoint, log)
  const provider = makeProvider(otel, { traceIds, exporter, server })
  const { RunSpans } = await import('./run-spans.ts')
  const spans = new RunSpans({ api: otel.api, tracer: provider.getTracer('agent-host', VERSION), traceIds, redact })
  const stopListening = [host.onEvent((event) => spans.add(event)), host.onRunEnd((end) => spans.endRun(end))]
  log.info(`Spans of all runs are sent to ${endpoint}.`)
  return async () => {
    for (const stop of stopListening) stop()
    spans.endAll()
    await shutDown(provider, log)
  }
}

/** The specification's own switches turn it off again. */
function endpointVariable(environment: NodeJS.ProcessEnv): string | undefined {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined
  if (environment.OTEL_TRACES_EXPORTER?.trim() === 'none') return undefined
  const variables = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
  return variables.find((name) => environment[name]?.trim())
}

/** As it may stand in a log: an address can hold a password. */
function readEndpoint(variable: string): string {
  const text = process.env[variable]?.trim() ?? ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.origin + url.pathname
  throw badOption(`${variable} must be an address like http://localhost:4318.`)
}

/** Any, unless the environment names one. */
function readProtocols(environment: NodeJS.ProcessEnv): readonly OtlpProtocol[] {
  const variables = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']
  const variable = variables.find((name) => environment[name]?.trim())
  if (variable === undefined) return OTLP_PROTOCOLS
  const wanted = environment[variable]?.trim()
  const protocols = OTLP_PROTOCOLS.filter((protocol) => protocol === wanted)
  if (protocols.length > 0) return protocols
  throw badOption(`${variable} must be ${OTLP_PROTOCOLS.join(' or ')}, not '${wanted}'.`)
}

interface ProviderOptions {
  readonly traceIds: TraceIds
  readonly exporter: SpanExporter
  /** Name of this server. */
  readonly server: string
}

function makeProvider(otel: OpenTelemetry, { traceIds, exporter, server }: ProviderOptions): BasicTracerProvider {
  const { sdk, resources } = otel
  const own = { 'service.name': 'agent-host', 'service.version': VERSION, 'service.instance.id': server }
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(own))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }))
  const spanProcessors = [new sdk.BatchSpanProcessor(exporter)]
  // Not registered: the code of agents may have a provider of its own.
  return new sdk.NodeTracerProvider({ resource, idGenerator: traceIds, spanProcessors })
}

async function shutDown(provider: BasicTracerProvider, log: Log): Promise<void> {
  // A batch that failed was reported when it failed.
  const done = provider.shutdown().catch(() => {})
  if (await settlesWithin(done, FLUSH_MS)) return
  log.warn(`The last spans were not taken within ${FLUSH_MS} ms, and are lost.`)
}
