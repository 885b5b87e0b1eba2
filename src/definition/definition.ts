import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { messageOf } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import { deepFreeze } from './deep-freeze.ts'
import { AgentError, type Path, type Position, type Problem } from './problem.ts'
import { findValueProblems, type ValueProblem } from './schema-problems.ts'
import type { Scope } from './scope.ts'
import { readYaml } from './yaml-source.ts'

/** Content of an agent file, from which the wiring is planned. Frozen. */
export interface AgentDefinition {
  readonly id: string
  readonly description: string
  /** Questions that the agent can answer, to try it with. */
  readonly examples: readonly string[]
  readonly modules: readonly ModuleEntry[]
  readonly exchange: readonly ExchangeEntry[]
  readonly toolMetadata: ToolMetadata
  readonly runPolicy: RunPolicy
  /** Absent without any. */
  readonly schedules?: readonly Schedule[]
  /** Absent without any. */
  readonly triggers?: readonly Trigger[]
}

/** Forms in which senders sign requests. */
export type TriggerSignature = 'standard' | 'github' | 'slack' | 'bearer'

/** Requests that start runs of an agent, as its file has them. */
export interface Trigger {
  readonly id: string
  /** As it was written: variables not yet filled in. */
  readonly secret: string
  readonly signature: TriggerSignature
  /** Default: the nameless one. */
  readonly tenant?: string
  /** Name of a key whose limits count for its runs. */
  readonly key?: string
}

/** Times at which an agent runs by itself, as its file has them. Either `cron` or `every` is there. */
export interface Schedule {
  readonly id: string
  /** Five fields. */
  readonly cron?: string
  /** Interval, counted from the Unix epoch: `15m`. */
  readonly every?: string
  /** Of `cron`. Default: UTC. */
  readonly timezone?: string
  /** Message, or what the agent's `input` schema asks for. */
  readonly input: string | Readonly<Record<string, unknown>>
  /** Name of the conversation that its runs continue. Default: each run begins one. */
  readonly conversation?: string
  /** Treatment of a due time while the run before goes on. Default: skip. */
  readonly overlap?: 'skip' | 'queue'
  /** Treatment of due times at which no server was there. Default: skip. */
  readonly missed?: 'skip' | 'once'
  /** Default: the nameless one. */
  readonly tenant?: string
  /** Name of a key whose limits count for its runs. */
  readonly key?: string
}

/** Rules for the runs of an agent. */
export interface RunPolicy {
  /** `ignore` drops options that clients send for the model, `refuse` answers them with an error. */
  readonly requestOptions: 'allow' | 'ignore' | 'refuse'
  /** Allows a run cut off by a crash to begin again even after it has said or done something. */
  readonly isRestartSafe: boolean
  /** Seconds after which an undecided approval expires; undefined: never. */
  readonly approvalTtl: number | undefined
}

/** Description of an agent for those who call it as a tool. What the file does not say is absent. */
export interface ToolMetadata {
  /** A name for people. */
  readonly title?: string
  readonly annotations?: ToolAnnotations
  /** JSON Schema (`type: object`) of the agent's input, instead of a message. */
  readonly input?: JsonObjectSchema
  /** JSON Schema (`type: object`) of the JSON that the agent answers with. */
  readonly output?: JsonObjectSchema
  /** Allows calls to continue a conversation. */
  readonly conversation?: boolean
  /** Has calls go on as stored tasks, for clients that can follow them. */
  readonly tasks?: boolean
  /** Data of the agent that clients of MCP may read. */
  readonly expose?: readonly ('conversations' | 'memory' | 'skills')[]
}

/** MCP hints about the behaviour of a tool (`ToolAnnotations` of its schema). */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/** JSON Schema of an object: the input or output of an agent. */
export interface JsonObjectSchema {
  readonly type: 'object'
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly required?: readonly string[]
  readonly [keyword: string]: unknown
}

export interface ModuleEntry {
  readonly id: string
  /** A module reference. */
  readonly module: string
  readonly scope?: Scope
  /** As it was written: variables not yet filled in, defaults not yet added. */
  readonly config: Readonly<Record<string, unknown>>
  readonly provides?: readonly string[]
  readonly uses?: readonly string[]
}

export interface ExchangeEntry {
  readonly module: string
  readonly protocol: string
  readonly provider: readonly string[]
  /** True when the provider was written as a list: only a dependency that takes many can have one. */
  readonly isList: boolean
  readonly fieldName?: string
}

/** A definition together with the way back to its text, for errors. */
export class DefinitionSource {
  readonly definition: AgentDefinition
  /** Relative to the project; absent for an agent that was registered by a program. */
  readonly file: string | undefined
  readonly problemAt: ProblemAt

  constructor(definition: AgentDefinition, file: string | undefined, problemAt: ProblemAt) {
    this.definition = definition
    this.file = file
    this.problemAt = problemAt
  }
}

/** Creates a problem with its place in the text. */
export type ProblemAt = (path: Path, message: string, suggestions?: readonly string[]) => Problem

const AGENT_ID = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'
const MODULE_ID = '^[A-Za-z0-9_][A-Za-z0-9_-]*$'
const INTERVAL = '^[1-9]\\d{0,5}[smhd]$'
/** Further problems are counted. */
export const MAX_PROBLEMS = 20

/** Pattern of the name of a key, or of a tenant. */
export const NAME_PATTERN = '^[\\w.@-]{1,64}$'
const NameText = Type.Optional(Type.String({ pattern: NAME_PATTERN }))

const Names = Type.Array(Type.String({ minLength: 1 }))

const ModuleSchema = Type.Object({
  id: Type.String({ pattern: MODULE_ID }),
  module: Type.String({ minLength: 1 }),
  scope: Type.Optional(Type.Union([Type.Literal('instance'), Type.Literal('agent')])),
  config: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  provides: Type.Optional(Names),
  uses: Type.Optional(Names),
})

const ExchangeSchema = Type.Object({
  module: Type.String({ minLength: 1 }),
  protocol: Type.String({ minLength: 1 }),
  provider: Type.Union([
    Type.String({ minLength: 1 }),
    Type.Array(Type.String({ minLength: 1 }), { minItems: 1, uniqueItems: true }),
  ]),
  fieldName: Type.Optional(Type.String({ minLength: 1 })),
  field_name: Type.Optional(Type.String({ minLength: 1 })),
})

const Hint = Type.Optional(Type.Boolean())
const AnnotationsSchema = Type.Object({
  readOnlyHint: Hint,
  destructiveHint: Hint,
  idempotentHint: Hint,
  openWorldHint: Hint,
  read_only_hint: Hint,
  destructive_hint: Hint,
  idempotent_hint: Hint,
  open_world_hint: Hint,
})

/** The names of properties and everything below them are the user's. */
const JsonObjectSchemaSchema = Type.Object(
  {
    type: Type.Literal('object'),
    properties: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()))),
    required: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: Type.Unknown() },
)

const ScheduleSchema = Type.Object({
  id: Type.String({ pattern: MODULE_ID, maxLength: 64 }),
  cron: Type.Optional(
    Type.String({ description: 'Five fields: minute, hour, day of the month, month, day of the week.' }),
  ),
  every: Type.Optional(
    Type.String({ pattern: INTERVAL, description: 'Interval, counted from the Unix epoch: 30s, 15m, 6h, 1d.' }),
  ),
  timezone: Type.Optional(Type.String({ description: 'Of cron, such as Europe/Berlin. Default: UTC.' })),
  input: Type.Union([Type.String({ minLength: 1 }), Type.Record(Type.String(), Type.Unknown())], {
    description: "The message, or what the agent's input schema asks for.",
  }),
  conversation: NameText,
  overlap: Type.Optional(
    Type.Union([Type.Literal('skip'), Type.Literal('queue')], {
      description: 'What happens to a due time while the run before goes on. Default: skip.',
    }),
  ),
  missed: Type.Optional(
    Type.Union([Type.Literal('skip'), Type.Literal('once')], {
      description: 'What happens after due times at which no server was there. Default: skip.',
    }),
  ),
  tenant: NameText,
  key: NameText,
})

const TriggerSchema = Type.Object({
  id: Type.String({ pattern: MODULE_ID, maxLength: 64 }),
  secret: Type.String({ minLength: 1, description: '${NAME} of the environment. For standard: whsec_ and Base64.' }),
  signature: Type.Union(
    (['standard', 'github', 'slack', 'bearer'] as const).map((form) => Type.Literal(form)),
    { description: 'Form in which the sender signs: Standard Webhooks, GitHub, Slack, or the secret as bearer token.' },
  ),
  tenant: NameText,
  key: NameText,
})

/** The schema of an agent file. */
export const AgentSchema = Type.Object({
  id: Type.String({ pattern: AGENT_ID }),
  title: Type.Optional(Type.String({ minLength: 1 })),
  description: Type.Optional(Type.String()),
  examples: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 10,
      description: 'Questions to try the agent with: in the playground, and in the request that `dev` prints.',
    }),
  ),
  annotations: Type.Optional(AnnotationsSchema),
  input: Type.Optional(JsonObjectSchemaSchema),
  output: Type.Optional(JsonObjectSchemaSchema),
  conversation: Type.Optional(Type.Boolean()),
  tasks: Type.Optional(
    Type.Boolean({
      description: 'Calls over MCP go on as stored tasks, for clients that can follow them. Default: false.',
    }),
  ),
  expose: Type.Optional(
    Type.Array(Type.Union([Type.Literal('conversations'), Type.Literal('memory'), Type.Literal('skills')]), {
      uniqueItems: true,
      description: 'Data that clients of MCP may read as resources. Default: none.',
    }),
  ),
  request_options: Type.Optional(
    Type.Union([Type.Literal('allow'), Type.Literal('ignore'), Type.Literal('refuse')], {
      description: 'Options that clients send for the model: passed on (default), dropped, or answered with an error.',
    }),
  ),
  restart: Type.Optional(
    Type.Literal('safe', {
      description: 'A run cut off by a crash may begin again even after it has said or done something.',
    }),
  ),
  approval_ttl: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, description: 'Seconds until an undecided approval expires. Default: never.' }),
  ),
  schedules: Type.Optional(
    Type.Array(ScheduleSchema, { maxItems: 100, description: 'Times at which the agent runs by itself.' }),
  ),
  triggers: Type.Optional(
    Type.Array(TriggerSchema, { maxItems: 100, description: 'Signed requests that start a run of the agent.' }),
  ),
  modules: Type.Array(ModuleSchema, { minItems: 1 }),
  exchange: Type.Optional(Type.Array(ExchangeSchema)),
})

const validator = Compile(AgentSchema)

/**
 * Reads a definition: the text of an agent file, or an object of the same shape. One that was read before is returned as it is.
 *
 * @param file how errors call the source
 * @throws AgentError `AGENT_INVALID` with every problem that can be seen without loading a module
 */
export function readDefinition(source: unknown, file?: string): DefinitionSource {
  if (source instanceof DefinitionSource) return source
  const { value, problems, locate } = typeof source === 'string' ? readYaml(source) : fromObject(source)
  const withFile = (problem: Problem): Problem => (file === undefined ? problem : { file, ...problem })
  if (problems.length > 0) throw new AgentError('AGENT_INVALID', problems.map(withFile))
  const problemAt: ProblemAt = (path, message, suggestions = []) =>
    withFile({ message, suggestions, ...locate?.(path) })
  const found = [
    ...findValueProblems(AgentSchema, validator, value),
    ...findDuplicates(value),
    ...findBadSchemas(value),
    ...findContradictions(value),
  ]
  if (found.length > 0) {
    const shown = found.slice(0, MAX_PROBLEMS)
    const explained = shown.map(({ path, message, suggestions }) =>
      problemAt(path, withoutPatterns(message), suggestions),
    )
    const omitted = found.length - shown.length
    if (omitted > 0) explained.push(withFile({ message: `Further problems: ${omitted}.`, suggestions: [] }))
    throw new AgentError('AGENT_INVALID', explained)
  }
  const definition = deepFreeze(normalise(value as RawDefinition))
  return new DefinitionSource(definition, file, problemAt)
}

type RawDefinition = Static<typeof AgentSchema>

interface RawSource {
  value: unknown
  problems: readonly Problem[]
  locate?: (path: Path) => Position
}

/** A copy: later changes by the caller must not reach the agent. */
function fromObject(value: unknown): RawSource {
  try {
    return { value: structuredClone(value), problems: [] }
  } catch (error) {
    const message = `The definition must be plain data: ${messageOf(error)}`
    return { value: undefined, problems: [{ message, suggestions: [] }] }
  }
}

/** Patterns say nothing to a reader. */
function withoutPatterns(message: string): string {
  return message
    .replace(
      `must match pattern "${AGENT_ID}"`,
      "must be 1 to 128 letters, digits, '_', '.' or '-', a letter or digit first",
    )
    .replace(`must match pattern "${NAME_PATTERN}"`, "must be 1 to 64 letters, digits, '_', '.', '@' or '-'")
    .replace(`must match pattern "${INTERVAL}"`, 'must be a number and s, m, h or d, such as 15m')
    .replace(`must match pattern "${MODULE_ID}"`, "must be letters, digits, '_' or '-', and not begin with '-'")
    .replace(/^It must be an object\.$/, "An agent file must be a mapping with 'id' and 'modules'.")
}

function findDuplicates(value: unknown): ValueProblem[] {
  const kinds = ['modules', 'schedules', 'triggers'] as const
  return kinds.flatMap((kind) => {
    const entries = fieldsOf(value)[kind]
    if (!Array.isArray(entries)) return []
    const ids = entries.map((entry: unknown) => fieldsOf(entry).id)
    return ids.flatMap((id, index): ValueProblem[] => {
      const path = [kind, index, 'id']
      if (typeof id !== 'string') return []
      if (kind === 'modules' && /^__.*__$/.test(id)) {
        return [
          { path, message: `The module id '${id}' is reserved.`, suggestions: ['Use an id without the underscores.'] },
        ]
      }
      if (ids.indexOf(id) === index) return []
      const suggestions = [`Give each ${kind.slice(0, -1)} its own id.`]
      return [{ path, message: `Two ${kind} have the id '${id}'.`, suggestions }]
    })
  })
}

/** Returns a problem for each schema of an agent that would fail when it is used. */
function findBadSchemas(value: unknown): ValueProblem[] {
  return (['input', 'output'] as const).flatMap((key): ValueProblem[] => {
    const schema = fieldsOf(value)[key]
    if (typeof schema !== 'object' || schema === null) return []
    try {
      Compile(schema).Check({})
      return []
    } catch (error) {
      return [
        { path: [key], message: `${key} is no JSON Schema that can be used: ${messageOf(error)}.`, suggestions: [] },
      ]
    }
  })
}

function findContradictions(value: unknown): ValueProblem[] {
  const { tasks, conversation } = fieldsOf(value)
  if (!tasks || !conversation) return []
  const message = "'tasks' and 'conversation' exclude each other: a task is one call, without a conversation_id."
  return [{ path: ['tasks'], message, suggestions: ['Leave one of the two out.'] }]
}

function normalise(raw: RawDefinition): AgentDefinition {
  const { id, description = '', examples = [], schedules, triggers, modules, exchange = [], ...settings } = raw
  const { request_options, restart, approval_ttl, ...toolMetadata } = settings
  return {
    id,
    description,
    examples,
    toolMetadata: normaliseToolMetadata(toolMetadata),
    runPolicy: {
      requestOptions: request_options ?? 'allow',
      isRestartSafe: restart === 'safe',
      approvalTtl: approval_ttl,
    },
    ...(schedules?.length ? { schedules } : {}),
    ...(triggers?.length ? { triggers } : {}),
    modules: modules.map(({ config, ...entry }) => ({ ...entry, config: config ?? {} })),
    exchange: exchange.map(({ field_name, fieldName = field_name, provider, ...entry }) => ({
      ...entry,
      isList: Array.isArray(provider),
      provider: Array.isArray(provider) ? provider : [provider],
      ...(fieldName === undefined ? {} : { fieldName }),
    })),
  }
}

function normaliseToolMetadata({ annotations, ...toolMetadata }: Pick<RawDefinition, 'annotations'>): ToolMetadata {
  if (!annotations) return toolMetadata
  const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const hints = Object.entries(annotations).map(([name, hint]) => [camelCase(name), hint])
  return { ...toolMetadata, annotations: Object.fromEntries(hints) }
}
