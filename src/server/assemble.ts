import type { FastifyInstance } from 'fastify'
import type { DescribeFailure } from '../assembly/failures.ts'
import type { AssembledProject } from '../assembly/opened-project.ts'
import { makeAdapterRuns } from '../durable/adapter-runs/tenant-runs.ts'
import type { RunService } from '../durable/run-service.ts'
import { HostError, messageOf } from '../errors.ts'
import { MISSING_KEYS, VISITS } from '../host/host.ts'
import type { Adapter, DebugAdapterOptions } from './adapters/adapter.ts'
import { makeAdapterHttp } from './adapters/adapter-http.ts'
import { DEBUG_UI, type LoadedAdapter, operatorKeys } from './adapters/load-adapter.ts'
import type { Questions } from './adapters/ui/questions/questions.ts'
import { drainOnClose, refuseOnClose } from './drain-on-close.ts'
import { followSchedules } from './follow-schedules.ts'
import { addCors } from './guards/cors.ts'
import { Doors } from './guards/doors.ts'
import type { FollowedKeys, KeysAndTenants } from './guards/followed-keys.ts'
import { checkHost, isLoopback, servedNames } from './guards/host-check.ts'
import { metricsDoor } from './guards/metrics-door.ts'
import { hideKey, takeKeyFrom } from './guards/named-key.ts'
import { type ServedAdapter, warnOfOpenAdapters } from './guards/open-adapters.ts'
import { Origins } from './guards/origins.ts'
import { principalOf, setVisitor } from './guards/principal.ts'
import type { Tokens } from './guards/tokens.ts'
import { limitWrongKeys } from './guards/wrong-keys.ts'
import { addMetrics } from './monitoring/add-metrics.ts'
import { answerProbes } from './monitoring/probes.ts'
import { queueGauges } from './monitoring/queue-gauges.ts'
import { NamedVariants } from './named-variants.ts'
import { nameSlow, onStart } from './on-start.ts'
import { serveApiDocs } from './openapi/serve-api-docs.ts'
import { serveOpenapi } from './openapi/serve-openapi.ts'
import type { ServerOptions } from './options/options.ts'
import { EventStreams } from './streams/event-streams.ts'

/** Adapter whose routes list and decide what waits. */
const INBOX = 'ResponsesCompatApiAdapter'

/** Parts that a server is assembled from, beside its options and its project. */
export interface ServerParts {
  readonly adapters: readonly LoadedAdapter[]
  readonly fileKeys: FollowedKeys | undefined
  readonly tokens: Tokens | undefined
  readonly describeFailure: DescribeFailure
  readonly questions?: Questions | undefined
}

/** Adds everything that a server answers to an app: guards, probes, metrics, documents, and the routes of the adapters. */
export async function assemble(
  app: FastifyInstance,
  options: ServerOptions,
  project: AssembledProject,
  { adapters: loaded, fileKeys, tokens, describeFailure, questions }: ServerParts,
): Promise<void> {
  const { host, agents, traces, redact, durableRuns, openRecords, sealing, audit } = project
  const { webhooks } = durableRuns
  await webhooks.open()
  const streams = new EventStreams()
  const adapters: NamedAdapter[] = []
  const worker = options.workerOnly ? [openWorker(app, durableRuns)] : []
  // Goes on with runs that an earlier server has left behind, whichever adapters are served.
  onStart(app, 'The store', () => durableRuns.resume())
  const parts = () => [...adapters, ...worker]
  const findObstacle = async () =>
    isDraining() ? 'The server shuts down.' : (audit?.log.findObstacle() ?? findUnready(parts()))
  answerProbes(app, {
    findObstacle,
    listMissing: () => host.missing,
    findWeakness: () => fileKeys?.problem ?? webhooks.problem,
  })
  const isDraining = refuseOnClose(app)
  if (options.schedules && !options.noWorker) followSchedules(app, project)
  drainOnClose(app, project, streams)
  app.addHook('onRequest', checkHost(servedNames(options)))
  const origins = new Origins(options)
  await addCors(app, options.corsOrigins, origins)
  const refuseWrongKey = limitWrongKeys(app, options.authRateLimit)
  await serveOpenapi(app)
  if (options.development) serveApiDocs(app)
  if (options.metrics) {
    const gaugesOfAdapters = () => parts().flatMap(({ part }) => part.gauges ?? [])
    const door = metricsDoor(options, { keys: operatorKeys(options), fileKeys, tokens, origins, refuseWrongKey })
    const stop = await addMetrics(app, host, streams, { server: options.serverName, gaugesOfAdapters, door })
    app.addHook('onClose', async () => stop())
    if (!door && !isLoopback(options.host))
      app.log.warn(`/metrics requires no key: everyone who reaches ${options.host} can read it.`)
  }
  const doors = new Doors(loaded, { fileKeys, tokens, origins, refuseWrongKey })
  setVisitor(app, doors.unseen)
  const audited = audit && (await import('./monitoring/audit-requests.ts'))
  if (audit) audited?.auditRequests(app, audit)
  if (fileKeys || tokens || audit) {
    const { enterVisits } = await import('./guards/enter-visits.ts')
    enterVisits(app, host[VISITS], fileKeys, audited?.sourceOf)
  }
  if (fileKeys || tokens) {
    const { serveForget } = await import('./forget/serve-forget.ts')
    const forgetInAdapters = async (tenant: string, user: string) => {
      let count = 0
      for (const { part } of adapters) count += (await part.forgetUser?.(tenant, user)) ?? 0
      return count
    }
    serveForget(app, project, { fileKeys, tokens, origins, refuseWrongKey }, forgetInAdapters)
  }
  const served = loaded.map((adapter) => ({ name: adapter.name, hasKey: doors.isClosed(adapter) }))
  const variants = new NamedVariants(host, options.development || options.allowVariants)
  const shared = {
    host,
    agents,
    traces,
    redact,
    sealing,
    openRecords,
    streams,
    describeFailure,
    durableRuns,
    servesInbox: loaded.some(({ name }) => name === INBOX),
    questions,
    variants,
    variantOf: variants.of.bind(variants),
    tenantOf: (request: Parameters<typeof principalOf>[0]) => principalOf(request).tenant,
    served,
  }
  adapters.push(...(await addAdapters(app, options, { loaded, doors, shared })))
  if (!options.workerOnly) {
    warnOfOpenAdapters(adapters, options, app.log)
    warnOfTriggers(app, project, served)
  }
  doors.logSurprises(app.log)
  const noteKeys = audit && audited?.keysNoter(audit)
  const check = async (read: KeysAndTenants) => {
    const { checkCosts } = await import('./guards/check-costs.ts')
    await checkCosts(read, host, app.log)
  }
  if (fileKeys) await check(fileKeys.used)
  if (fileKeys) noteKeys?.(fileKeys.used)
  const listAgents = () => host.list().map(({ id }) => id)
  const stop = doors.follow(app.log, { check, noteKeys, listAgents, listMissing: () => host[MISSING_KEYS]() })
  app.addHook('onClose', async () => stop())
}

/** Warns of triggers that no adapter serves. */
function warnOfTriggers(
  app: FastifyInstance,
  { host }: AssembledProject,
  served: readonly { readonly name: string }[],
): void {
  if (served.some(({ name }) => name === 'TriggersAdapter')) return
  const told = new Set<string>()
  const look = () => {
    const all = host.list().filter(({ id, triggers }) => triggers && !told.has(id))
    for (const { id } of all) {
      told.add(id)
      app.log.warn(`Agent '${id}' has triggers, and nothing serves them. Add --adapter TriggersAdapter.`)
    }
  }
  look()
  const unfollow = host.onChange(look)
  app.addHook('onClose', async () => unfollow())
}

/** Carries out the runs of other servers from the start on. */
function openWorker(app: FastifyInstance, runs: RunService): ServedPart {
  const opening = runs.open()
  opening.catch(() => {})
  onStart(app, 'The store', () => opening)
  return { name: 'worker', part: { gauges: queueGauges(runs), checkReady: () => runs.checkReady() } }
}

/** Part of the server that has metrics, and may not be ready. */
interface ServedPart {
  readonly name: string
  readonly part: Pick<Adapter, 'gauges' | 'checkReady' | 'forgetUser'>
}

type NamedAdapter = ServedPart & ServedAdapter

interface AdapterParts {
  readonly loaded: readonly LoadedAdapter[]
  readonly doors: Doors
  readonly shared: Omit<DebugAdapterOptions, 'options' | 'log' | 'requiresKey' | 'config' | 'runs' | 'http'>
}

async function addAdapters(app: FastifyInstance, options: ServerOptions, parts: AdapterParts): Promise<NamedAdapter[]> {
  const adapters: NamedAdapter[] = []
  for (const found of parts.loaded) {
    try {
      adapters.push(await addAdapter(app, options, found, parts))
    } catch (error) {
      if (error instanceof HostError) throw error
      const message = `The adapter '${found.name}' failed to start: ${messageOf(error)}`
      throw new HostError('MODULE_INVALID', message, { cause: error })
    }
  }
  return adapters
}

async function addAdapter(
  app: FastifyInstance,
  options: ServerOptions,
  found: LoadedAdapter,
  { doors, shared }: AdapterParts,
): Promise<NamedAdapter> {
  const { name, Adapter, config } = found
  const requiresKey = doors.isClosed(found)
  const runs = makeAdapterRuns(shared.durableRuns, shared.host, name)
  const http = makeAdapterHttp({ ...shared, requiresKey })
  const adapter = new Adapter({ ...shared, runs, http, options, log: app.log, requiresKey, config })
  const checksItself = adapter.checksItself === true
  // Its page sends several requests a second, which would bury the work of agents.
  const logLevel = name === DEBUG_UI ? 'warn' : undefined
  const add = async (scope: FastifyInstance) => {
    const { header } = Adapter.key ?? {}
    if (!checksItself) {
      if (header) scope.addHook('onRequest', takeKeyFrom(header))
      scope.addHook('onRequest', doors.doorOf(found))
      if (header) scope.addHook('onRequest', hideKey)
    }
    await nameSlow(app.log, `The adapter '${name}'`, Promise.resolve(adapter.adapt(scope)))
  }
  await app.register(add, logLevel ? { logLevel } : {})
  return { name, part: adapter, isOpen: !checksItself && !requiresKey, requiresKey, variable: Adapter.key?.variable }
}

/** Returns why a part cannot serve at this moment; undefined when all can. */
async function findUnready(parts: readonly ServedPart[]): Promise<string | undefined> {
  for (const { name, part } of parts) {
    try {
      await part.checkReady?.()
    } catch (error) {
      return `${name}: ${error instanceof HostError ? error.code : messageOf(error)}`
    }
  }
  return undefined
}
