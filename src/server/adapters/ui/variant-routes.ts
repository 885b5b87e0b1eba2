import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AgentError } from '../../../definition/problem.ts'
import { badRequest } from '../../../errors.ts'
import type { Redact } from '../../../redaction/redact.ts'
import { ownChanges } from '../../../variants/called-changes.ts'
import type { VariantProblem as FoundProblem } from '../../../variants/plan-variant.ts'
import { type ReadChanges, readChanges, writeChanges } from '../../../variants/variant-text.ts'
import type { Variant, VariantChange, VariantProblem, VariantRefusal, VariantRequest } from '../../../wire/variant.ts'
import { refusedField } from '../../bodies/invalid-field.ts'
import { isLoopback } from '../../guards/host-check.ts'
import { principalOf, visitorOf } from '../../guards/principal.ts'
import { isOwnPage } from '../../guards/shows-content.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { DebugAdapterOptions } from '../adapter.ts'
import { shownDefinition } from './redact-definition.ts'
import { existsFor, type UiRoutes } from './routes.ts'

type VariantRoutesOptions = Pick<DebugAdapterOptions, 'host' | 'agents' | 'variants' | 'redact' | 'options'>

/** More than the largest definition. */
const MAX_BYTES = 1024 * 1024

/** Adds the route by which variants of agents are made. To those who may not make any, it does not exist. */
export function addVariantRoutes(app: FastifyInstance, options: VariantRoutesOptions, routes: UiRoutes): void {
  const { development, allowVariants } = options.options
  if (!development && !allowVariants) return
  app.route({
    ...routes.createVariant((request, reply) => createVariant(request.body, request, reply, options)),
    bodyLimit: MAX_BYTES,
    onRequest: existsFor((request) => mayVary(request, options.options)),
  })
}

/** Tells whether a request may make variants: one of the page under `dev`, otherwise one with a key that may look behind the scenes. */
function mayVary(
  request: FastifyRequest,
  { development, allowVariants }: Pick<ServerOptions, 'development' | 'allowVariants'>,
): boolean {
  if (development) return isOwnPage(request)
  const { principal, origins } = visitorOf(request)
  return allowVariants && principal.hasKey && principal.scopes.includes('debug') && !origins.isForeign(request)
}

/** Tells whether variants may be written as a whole definition: on the machine of the developer alone. */
export function takesDefinitions({ development, host }: Pick<ServerOptions, 'development' | 'host'>): boolean {
  return development && isLoopback(host)
}

async function createVariant(
  { agent_id: agentId, version, ...given }: VariantRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  { host, agents, variants, redact, options }: VariantRoutesOptions,
): Promise<FastifyReply> {
  const info = host.get(agentId)
  if (!info) return reply.code(404).send({ detail: `There is no agent '${agentId}'` })
  if (version !== undefined && version !== info.version) {
    return reply.code(409).send({ detail: `Agent '${agentId}' changed meanwhile: take its new text` })
  }
  const shown = shownDefinition(agentId, { host, agents, redact })
  let locate: ReadChanges['locate'] = () => ({})
  try {
    const { changes, ...text } = read(given, shown, info.file, options)
    locate = text.locate ?? locate
    refuseSecrets(changes, redact)
    const opened = await host.openVariant(agentId, changes)
    const id = variants.add(principalOf(request).tenant, { agentId, changes })
    const definition = given.definition ?? (shown === null ? null : writeChanges(shown, ownChanges(changes)))
    const variant: Variant = { id, agent_id: agentId, version: opened.version, changes: [...changes], definition }
    return reply.code(201).send(variant)
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    return reply.code(400).send(toRefusal(error, locate, redact))
  }
}

function read(
  { changes, definition }: Pick<VariantRequest, 'changes' | 'definition'>,
  shown: string | null,
  file: string | undefined,
  options: ServerOptions,
): Partial<ReadChanges> & Pick<ReadChanges, 'changes'> {
  if (definition === undefined) return { changes: changes ?? [] }
  if (changes) throw badRequest('changes and definition exclude each other', { field: 'changes' })
  if (!takesDefinitions(options)) {
    throw refusedField('definition', 'only agent-host dev on this machine takes a whole text; send changes')
  }
  if (shown === null) {
    throw refusedField('definition', 'the agent has no file')
  }
  return readChanges(shown, definition, file)
}

/** A variant is shown in traces, and remembered with runs that wait. */
export function refuseSecrets(changes: readonly VariantChange[], redact: Redact): void {
  const holding = changes.filter(({ value }) => {
    const text = JSON.stringify(value) ?? ''
    return redact(text) !== text
  })
  const problems = holding.map(({ agent, module, path }) => ({
    agent,
    module,
    path,
    message: `module '${module}', config: ${path.join('.')} holds a secret.`,
    suggestions: ['Leave it out: tools and models get secrets from the environment.'],
  }))
  if (problems.length > 0) throw new AgentError('AGENT_INVALID', problems)
}

/** The answer to changes that are refused, each with its place. */
export function toRefusal({ problems }: AgentError, locate: ReadChanges['locate'], redact: Redact): VariantRefusal {
  const shown = problems.map((problem: FoundProblem): VariantProblem => {
    const { agent, module, path, message, suggestions } = problem
    const found = agent === undefined && module !== undefined ? locate(module, path) : {}
    const { line = found.line, column = found.column } = problem
    const place = { agent, module, line, column, path: path && [...path] }
    return { ...place, message: redact(message), suggestions: suggestions.map(redact) }
  })
  return { detail: shown.map(({ message }) => message).join('\n'), problems: shown }
}
