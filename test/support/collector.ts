import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = string | number | boolean | readonly Value[]

/** A span as a collector received it. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  /** 1 internal, 3 client. */
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  /** Code 0 unset, 2 error. */
  readonly status: { readonly code?: number; readonly message?: string }
  readonly attributes: Readonly<Record<string, Value>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[]
}

/** A collector of OpenTelemetry: takes OTLP over HTTP, and remembers it. Spans are read from JSON alone. */
export async function startCollector() {
  const texts: string[] = []
  const paths = new Set<string | undefined>()
  const types = new Set<string | undefined>()
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    texts.push(text)
    paths.add(request.url)
    types.add(request.headers['content-type'])
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const resources = () => texts.flatMap((text) => JSON.parse(text).resourceSpans as RawResource[])
  return {
    url: `http://127.0.0.1:${port}`,
    paths,
    types,
    /** Everything that arrived, as it came. */
    text: () => texts.join('\n'),
    resource: () => readAttributes(resources()[0]?.resource.attributes ?? []),
    /** In the order of their beginning. */
    spans: (): ReceivedSpan[] =>
      resources()
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(readSpan)))
        .sort((a, b) => a.startMs - b.startMs),
    stop: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

interface RawValue {
  readonly stringValue?: string
  readonly intValue?: number
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values: readonly RawValue[] }
}
type RawAttributes = readonly { readonly key: string; readonly value: RawValue }[]
interface RawSpan extends Pick<ReceivedSpan, 'traceId' | 'spanId' | 'name' | 'kind' | 'status' | 'links'> {
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: RawAttributes
  readonly events: readonly { readonly name: string; readonly attributes: RawAttributes }[]
}
interface RawResource {
  readonly resource: { readonly attributes: RawAttributes }
  readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[]
}

function readSpan({ traceId, spanId, parentSpanId, name, kind, status, ...raw }: RawSpan): ReceivedSpan {
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startMs: Number(raw.startTimeUnixNano) / 1e6,
    endMs: Number(raw.endTimeUnixNano) / 1e6,
    status,
    attributes: readAttributes(raw.attributes),
    links: raw.links.map(({ traceId, spanId }) => ({ traceId, spanId })),
    events: raw.events.map((event) => ({ name: event.name, attributes: readAttributes(event.attributes) })),
  }
}

function readAttributes(raw: RawAttributes): Record<string, Value> {
  return Object.fromEntries(raw.map(({ key, value }) => [key, readValue(value)]))
}

function readValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: RawValue): Value {
  return stringValue ?? intValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(readValue) ?? ''
}
