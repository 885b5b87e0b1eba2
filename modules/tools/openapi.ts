import { defineModule, hostOf, makeGuardedFetch, messageOf, ToolProvider, Type } from 'agent-host'
import { checkRules, needOf, ruleOf, withApproval } from './lib/approval-rules.ts'
import { findTool } from './lib/find-tool.ts'
import { readAnswer } from './lib/openapi/answer.ts'
import { buildRequest } from './lib/openapi/request.ts'
import { hasCredentials, NO_CREDENTIALS } from './lib/openapi/server.ts'
import { LoadedOperations } from './lib/openapi/tools.ts'
import { PRIVATE_HOSTS } from './lib/private-hosts.ts'
import { callTimeout, optionalApproval, prefix } from './lib/settings.ts'
import { withinTimeout } from './lib/tool-result.ts'

/** 10 MiB: of a document, and of an answer. */
const MAX_BYTES = 10 * 1024 * 1024

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
    prefix,
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
    approval: optionalApproval('never for GET, always for others.'),
    timeout: callTimeout,
  }),
  create: async (_, config, context) => {
    checkRules(config.approval, ['always', 'never'], context)
    const fetch = makeGuardedFetch({
      namedHosts: namedHosts(config),
      advice: PRIVATE_HOSTS,
      maxBytes: MAX_BYTES,
    })
    const operations = new LoadedOperations(config, context, fetch)
    try {
      await operations.load()
    } catch (error) {
      await fetch[Symbol.asyncDispose]()
      throw error
    }
    const needOfCalls = (name: string, args?: Readonly<Record<string, unknown>>) => {
      const rule = ruleOf(config.approval, name)
      const tool = operations.tools.get(name)
      if (rule === undefined) return tool?.operation.method !== 'GET'
      return needOf(rule, args && tool && (() => tool.check(args)))
    }
    const define = () =>
      [...operations.tools].map(([name, { operation }]) => {
        const { description, schema: parameters } = operation
        return withApproval({ name, description, parameters }, needOfCalls(name))
      })
    let defined = { of: operations.tools, definitions: define() }
    return {
      listTools() {
        if (defined.of !== operations.tools) defined = { of: operations.tools, definitions: define() }
        return defined.definitions
      },
      async executeTool(name, args, run) {
        const tool = findTool(operations.tools, name)
        run.signal.throwIfAborted()
        const { operation, server, check, credentials } = tool
        const { url, init } = buildRequest(operation, check(args), server, credentials)
        const giveUp = new AbortController()
        const signal = AbortSignal.any([run.signal, giveUp.signal])
        try {
          const call = fetch(url, { ...init, signal }).then(readAnswer)
          return await withinTimeout(name, call, config.timeout, run.signal)
        } catch (error) {
          giveUp.abort(error)
          run.signal.throwIfAborted()
          const { origin } = new URL(server)
          return { text: `${operation.method} ${origin}${operation.path} failed: ${messageOf(error)}`, isError: true }
        }
      },
      needsApproval: (name, args) => needOfCalls(name, args),
      async [Symbol.asyncDispose]() {
        operations.close()
        await fetch[Symbol.asyncDispose]()
      },
    }
  },
})

/** Hosts that the config names, and that requests may go to even where they are private. */
function namedHosts(config: {
  readonly base_url?: string | undefined
  readonly document: string
}): ReadonlySet<string> {
  const { base_url: baseUrl, document: place } = config
  const isRemote = /^https?:/i.test(place)
  if (isRemote && baseUrl === undefined) {
    throw new Error('document: a document at an address needs `base_url`: its own `servers` are not trusted.')
  }
  const named = Object.entries({ base_url: baseUrl, document: isRemote ? place : undefined })
  const hosts = named.flatMap(([field, address]) => {
    if (address === undefined) return []
    if (!hasCredentials(address)) return [hostOf(new URL(address))]
    throw new Error(`${field}: the address has a user name or a password. ${NO_CREDENTIALS}`)
  })
  return new Set(hosts)
}
