import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Attributes } from '@opentelemetry/api'
import type { NodeTracerConfig } from '@opentelemetry/sdk-trace-node'
import { badOption } from '../errors.ts'

export interface OpenTelemetry {
  readonly api: typeof import('@opentelemetry/api')
  readonly sdk: typeof import('@opentelemetry/sdk-trace-node')
  readonly exporter: Exporter
  readonly resources: Resources
}

/** The packages of all encodings export the same class. */
type Exporter = Pick<typeof import('@opentelemetry/exporter-trace-otlp-http'), 'OTLPTraceExporter'>

type Resource = NonNullable<NodeTracerConfig['resource']>

/** Used part of `@opentelemetry/resources`. */
interface Resources {
  defaultResource(): Resource
  resourceFromAttributes(attributes: Attributes): Resource
  detectResources(options: { readonly detectors: readonly unknown[] }): Resource
  readonly envDetector: unknown
}

const API = '@opentelemetry/api'
const SDK = '@opentelemetry/sdk-trace-node'
/** By the values of `OTEL_EXPORTER_OTLP_PROTOCOL`. */
const EXPORTERS = {
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
} as const

export type OtlpProtocol = keyof typeof EXPORTERS

/** The preferred one first. */
export const OTLP_PROTOCOLS: readonly OtlpProtocol[] = ['http/protobuf', 'http/json']

/**
 * Optional peers: all of them are taken from the project, or from where agent-host is installed.
 *
 * @param variable that asks for them
 * @param protocols in which spans may be sent: the first one whose package is installed
 * @throws HostError `OPTION_INVALID` naming the packages to install
 */
export async function loadOpenTelemetry(
  projectDir: string,
  variable: string,
  protocols: readonly OtlpProtocol[],
): Promise<OpenTelemetry> {
  const exporters = protocols.map((protocol) => EXPORTERS[protocol])
  const project = join(projectDir, 'package.json')
  const bases = [project, import.meta.url]
  for (const [base, name] of bases.flatMap((base) => exporters.map((exporter) => [base, exporter] as const))) {
    const files = findPackages(base, name)
    if (!files) continue
    const [api, sdk, exporter, resources] = await Promise.all(files.map((file) => import(pathToFileURL(file).href)))
    return { api, sdk, exporter, resources }
  }
  const names = [API, SDK, ...exporters.slice(0, 1)].filter((name) => !isInstalled(project, name)).join(' ')
  throw badOption(`${variable} is set, and needs packages that are not installed: ${names}.`, {
    suggestions: [`Install them in the project: npm install ${names}`, `Or unset ${variable}: no spans are then sent.`],
  })
}

function findPackages(base: string, exporterName: string): readonly string[] | undefined {
  try {
    const { resolve } = createRequire(base)
    const sdk = resolve(SDK)
    return [resolve(API), sdk, resolve(exporterName), findResources(sdk)]
  } catch {
    return undefined
  }
}

function isInstalled(base: string, name: string): boolean {
  try {
    const file = createRequire(base).resolve(name)
    return name !== SDK || findResources(file) !== ''
  } catch {
    return false
  }
}

/** It comes with the SDK, and a strict installer shows it to the SDK alone. */
function findResources(sdk = ''): string {
  const sdkBase = createRequire(sdk).resolve('@opentelemetry/sdk-trace-base')
  return createRequire(sdkBase).resolve('@opentelemetry/resources')
}
