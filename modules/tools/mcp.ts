import { defineModule, Storage, ToolProvider, Type } from 'agent-host'
import { checkRules, Rule as LocalRule, needOf, ruleOf, withApproval } from './lib/approval-rules.ts'
import { approvalOf, chosenNames, LONGEST_TIMER } from './lib/settings.ts'

const Rule = Type.Union([Type.Literal('destructive'), ...LocalRule.anyOf])

const Server = Type.Object({
  name: Type.String({ pattern: '^[A-Za-z0-9_-]+$', description: 'Name of the server in messages.' }),
  command: Type.Optional(Type.String({ minLength: 1, description: 'Program to start and talk to over stdio.' })),
  args: Type.Array(Type.String(), { default: [], description: 'Its arguments.', secret: 'arguments' }),
  env: Type.Record(Type.String(), Type.String({ secret: true }), {
    default: {},
    description: 'Variables that it gets in addition to PATH, HOME and the like; best as ${NAME}.',
  }),
  cwd: Type.String({ default: '.', description: 'Working directory, relative to the project.' }),
  url: Type.Optional(Type.String({ pattern: '^https?://', description: 'Address of a server over HTTP.' })),
  transport: Type.Union([Type.Literal('http'), Type.Literal('sse')], {
    default: 'http',
    description: '`sse` for servers of protocol version 2024-11-05.',
  }),
  headers: Type.Record(Type.String(), Type.String({ secret: true }), {
    default: {},
    description: 'Headers of every request.',
  }),
  bearer: Type.Optional(
    Type.String({ secret: true, description: 'Token for the header Authorization; best as ${NAME}.' }),
  ),
  prefix: Type.String({ default: '', description: "Prefix of its tools' names." }),
  ...chosenNames(),
  timeout: Type.Number({
    minimum: 0.001,
    maximum: LONGEST_TIMER,
    default: 60,
    description: 'Seconds of silence (progress counts) after which a call fails.',
  }),
  total_timeout: Type.Number({
    minimum: 0.001,
    maximum: LONGEST_TIMER,
    default: 600,
    description: 'Maximum seconds of a call, progress or not.',
  }),
  oauth: Type.Optional(
    Type.Object(
      {
        client_id: Type.Optional(
          Type.String({ minLength: 1, description: 'Id of this client. Default: the server registers one.' }),
        ),
        client_secret: Type.Optional(Type.String({ secret: true, description: 'Its secret; best as ${NAME}.' })),
        scope: Type.Optional(
          Type.String({ description: 'Scopes to ask for, with spaces. Default: those that the server names.' }),
        ),
        hosts: Type.Array(Type.String(), {
          default: [],
          description: 'Hosts of the authorization server that may have private addresses.',
        }),
        per: Type.String({ default: 'tenant', description: 'Whose token it is: tenant. Others are refused.' }),
      },
      { description: 'Has people sign in (OAuth); `{}` is enough for most servers.' },
    ),
  ),
  pin: Type.Boolean({
    default: false,
    description:
      'Refuse tools whose description or schema changes after the first listing, instead of logging a warning.',
  }),
})

export default defineModule({
  name: 'McpTools',
  description: 'Tools of MCP servers, started here or reached over HTTP.',
  provides: [ToolProvider],
  uses: { storage: Storage },
  scope: 'agent',
  config: Type.Object({
    servers: Type.Array(Server, { minItems: 1, description: 'The servers.' }),
    approval: approvalOf(Rule, { default: 'never' }, '', ' destructive (tools that their server marks as such),'),
    connect_timeout: Type.Number({
      minimum: 0.001,
      maximum: LONGEST_TIMER,
      default: 10,
      description:
        'Seconds that a server has to answer when the agent loads; after that, connecting continues in the background.',
    }),
  }),
  create: async ({ storage }, config, context) => {
    checkRules(config.approval, ['always', 'never', 'destructive'], context)
    // The client of MCP is the largest thing in the library: agents without it do not wait for it.
    const { McpServers } = await import('./lib/mcp/servers.ts')
    const servers = new McpServers(config.servers, context, storage)
    await servers.connect(config.connect_timeout)
    const ruleFor = (name: string) => ruleOf(config.approval, name) ?? 'never'
    return {
      async listTools(run) {
        const tools = await servers.listTools(run)
        return tools.map(({ definition, isDestructive }) => {
          const rule = ruleFor(definition.name)
          return withApproval(definition, rule === 'destructive' ? isDestructive : needOf(rule))
        })
      },
      executeTool: (name, args, run) => servers.executeTool(name, args, run),
      needsApproval(name, args, run) {
        const rule = ruleFor(name)
        if (rule === 'destructive') return servers.isDestructive(name, run)
        const need = needOf(rule)
        if (typeof need === 'boolean') return need
        return servers.argumentsToSend(name, args, run).then((sent) => ({ ...need, arguments: sent }))
      },
      [Symbol.asyncDispose]: () => servers.close(),
    }
  },
})
