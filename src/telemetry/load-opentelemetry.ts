import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Attributes } from '@opentelemetry/api'
import type { NodeTracerConfig } from '@opentelemetry/sdk-trace-node'
import { HostError } from '../errors.ts'

export interface OpenTelemetry {
  readonly api: typeof import('@opentelemetry/api')
  readonly sdk: typeof import('@opentelemetry/sdk-trace-node')
  readonly exporter: typeof import('@opentelemetry/exporter-trace-otlp-http')
  readonly resources: Resources
}

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
const EXPORTER = '@opentelemetry/exporter-trace-otlp-http'

/**
 * Optional peers: all of them are taken from the project, or from where agent-host is installed.
 *
 * @param variable that asks for them
 * @throws HostError `OPTION_INVALID` naming the packages to install
 */
export async function loadOpenTelemetry(projectDir: string, variable: string): Promise<OpenTelemetry> {
  for (const base of [join(projectDir, 'package.json'), import.meta.url]) {
    const files = findPackages(base)
    if (!files) continue
    const [api, sdk, exporter, resources] = await Promise.all(files.map((file) => import(pathToFileURL(file).href)))
    return { api, sdk, exporter, resources }
  }
  const names = [API, SDK, EXPORTER].join(' ')
  throw new HostError('OPTION_INVALID', `${variable} is set, and needs packages that are not installed: ${names}.`, {
    suggestions: [`Install them in the project: npm install ${names}`, `Or unset ${variable}: no spans are then sent.`],
  })
}

function findPackages(base: string): readonly string[] | undefined {
  try {
    const [api, sdk, exporter] = [API, SDK, EXPORTER].map((name) => createRequire(base).resolve(name))
    return [api, sdk, exporter, findResources(sdk)] as readonly string[]
  } catch {
    return undefined
  }
}

/** It comes with the SDK, and a strict installer shows it to nobody else. */
function findResources(sdk = ''): string {
  const sdkBase = createRequire(sdk).resolve('@opentelemetry/sdk-trace-base')
  return createRequire(sdkBase).resolve('@opentelemetry/resources')
}
