import { defineModule, messageOf, ToolProvider, Type } from 'agent-host'
import { checkRules, fits, needOf, Rule, ruleOf, withApproval } from './lib/approval-rules.ts'
import { makeArgumentCheck } from './lib/check-arguments.ts'
import { findTool } from './lib/find-tool.ts'
import { hostOf, makeGuardedFetch } from './lib/guarded-fetch.ts'
import { readAnswer } from './lib/openapi-answer.ts'
import { OpenApiDocument } from './lib/openapi-document.ts'
import { listOperations, type Operation } from './lib/openapi-operations.ts'
import { buildRequest } from './lib/openapi-request.ts'
import { Security } from './lib/openapi-security.ts'
import { hasCredentials, NO_CREDENTIALS, serverOf } from './lib/openapi-server.ts'
import { withinTimeout } from './lib/tool-result.ts'

/** 10 MiB: of a document, and of an answer. */
const MAX_BYTES = 10 * 1024 * 1024
const TAG = 'tag:'

export default defineModule({
  name: 'OpenApiTools',
  description: 'Operations of an HTTP API as tools, from its OpenAPI document (3.0 or 3.1).',
  provides: [ToolProvider],
  scope: 'agent',
  config: Type.Object({
    document: Type.String({ minLength: 1, description: 'File of the project, or address, in YAML or JSON.' }),
    base_url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: "Address of the API, instead of the document's `servers`. Required for a document at an address.",
      }),
    ),
    operations: Type.Array(Type.String({ minLength: 1 }), {
      default: ['*'],
      description: 'Operations to offer: globs of their names, or `tag:` with a glob of tags.',
    }),
    prefix: Type.String({ default: '', description: "Prefix of the tools' names." }),
    headers: Type.Record(Type.String(), Type.String({ secret: true }), {
      default: {},
      description: 'Headers of every request to the API; best with ${NAME}.',
    }),
    security: Type.Record(Type.String(), Type.String({ secret: true }), {
      default: {},
      description:
        "Secrets by the names of the document's security schemes, best as ${NAME}: a key, a token, or `user:password` for basic.",
    }),
    variables: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: "Values of variables of the document's `servers`.",
    }),
    approval: Type.Optional(
      Type.Union([Rule, Type.Record(Type.String(), Rule)], {
        description:
          'Calls that a person has to approve: always, never, the id of a module that decides (ApprovalPolicy), or a map from globs of tool names to one of these; the first match wins. Default: never for GET, always for others.',
      }),
    ),
    timeout: Type.Number({ minimum: 0.001, default: 30, description: 'Maximum seconds of one call.' }),
  }),
  create: async (_, config, context) => {
    checkRules(config.approval, ['always', 'never'], context)
    const { base_url: baseUrl, document: place, timeout } = config
    const isRemote = /^https?:/i.test(place)
    if (isRemote && baseUrl === undefined) {
      throw new Error('document: a document at an address needs `base_url`: its own `servers` are not trusted.')
    }
    for (const [field, address] of Object.entries({ base_url: baseUrl, document: isRemote ? place : undefined })) {
      if (address === undefined || !hasCredentials(address)) continue
      throw new Error(`${field}: the address has a user name or a password. ${NO_CREDENTIALS}`)
    }
    const named = [baseUrl, isRemote ? place : undefined].flatMap((url) => (url ? [hostOf(new URL(url))] : []))
    const fetch = makeGuardedFetch({ namedHosts: new Set(named), maxBytes: MAX_BYTES })
    try {
      const document = await OpenApiDocument.load(place, context, fetch)
      const security = new Security(document, config.security, config.headers)
      const chosen = chooseOperations(listOperations(document), config.operations, config.prefix, document)
      const tools = new Map(
        chosen.map(([name, operation]) => {
          const server = baseUrl ?? serverOf(document, operation, config.variables)
          return [name, { operation, server, check: makeArgumentCheck(name, operation.schema) }]
        }),
      )
      warnOfSecrets(chosen, security, context.log.warn)
      warnOfHeaders(chosen, context.log.warn)
      const needOfCalls = (name: string, method: string | undefined) => {
        const rule = ruleOf(config.approval, name)
        return rule === undefined ? method !== 'GET' : needOf(rule)
      }
      const definitions = chosen.map(([name, { description, schema, method }]) =>
        withApproval({ name, description, parameters: schema }, needOfCalls(name, method)),
      )
      return {
        listTools: () => definitions,
        async executeTool(name, args, run) {
          const tool = findTool(tools, name)
          run.signal.throwIfAborted()
          const { operation, server, check } = tool
          const { url, init } = buildRequest(operation, check(args), server, security.credentialsOf(operation))
          const giveUp = new AbortController()
          const signal = AbortSignal.any([run.signal, giveUp.signal])
          try {
            const call = fetch(url, { ...init, signal }).then(readAnswer)
            return await withinTimeout(name, call, timeout, run.signal)
          } catch (error) {
            giveUp.abort(error)
            run.signal.throwIfAborted()
            const { origin } = new URL(server)
            return { text: `${operation.method} ${origin}${operation.path} failed: ${messageOf(error)}`, isError: true }
          }
        },
        needsApproval: (name) => needOfCalls(name, tools.get(name)?.operation.method),
        [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
      }
    } catch (error) {
      await fetch[Symbol.asyncDispose]()
      throw error
    }
  },
})

/** The chosen operations by the names of their tools. */
function chooseOperations(
  operations: readonly Operation[],
  globs: readonly string[],
  prefix: string,
  document: OpenApiDocument,
): [string, Operation][] {
  const isChosenBy = (glob: string, { name, tags }: Operation) =>
    glob.startsWith(TAG) ? tags.some((tag) => fits(tag, glob.slice(TAG.length))) : fits(name, glob)
  const useless = globs.find((glob) => !operations.some((operation) => isChosenBy(glob, operation)))
  if (useless !== undefined) {
    const known = operations.map(({ name }) => name).join(', ') || 'none'
    throw new Error(`operations: '${useless}' fits no operation of ${document.name}. Operations: ${known}.`)
  }
  const chosen = operations.filter((operation) => globs.some((glob) => isChosenBy(glob, operation)))
  const named = new Map<string, Operation>()
  for (const operation of chosen) {
    const name = (prefix + operation.name).slice(0, 64)
    const other = named.get(name)
    if (other) {
      const path = ['paths', operation.path, operation.method.toLowerCase()]
      const both = `${other.method} ${other.path} and ${operation.method} ${operation.path}`
      throw document.refuse(path, `${both} both become the tool '${name}'. Give one of them another operationId.`)
    }
    named.set(name, operation)
  }
  return [...named]
}

function warnOfSecrets(chosen: readonly [string, Operation][], security: Security, warn: (text: string) => void): void {
  const names = chosen.flatMap(([name, operation]) => (security.lacksSecrets(operation) ? [name] : []))
  if (names.length > 0) warn(`security: no secret is given for ${names.join(', ')}: the server may refuse these calls.`)
}

function warnOfHeaders(chosen: readonly [string, Operation][], warn: (text: string) => void): void {
  const found = chosen.flatMap(([name, { forbidden }]) => forbidden.map((header) => `'${header}' of ${name}`))
  if (found.length > 0) warn(`Headers that no model may set are left out: ${found.join(', ')}.`)
}
