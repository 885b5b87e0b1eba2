import { AgentSchema } from '../definition/definition.ts'
import { type Fields, fieldsOf, isObject, mapFields } from '../json.ts'
import { type CatalogEntry, readLibraryCatalog } from './library-catalog.ts'
import { listProjectModules, ModuleLoader } from './load-module.ts'
import { ProjectCode } from './project-code.ts'

/** A JSON Schema, as far as it is looked into here. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: 'The name by which clients call the agent: unique on the server.',
  title: 'A name for people.',
  description: 'What the agent does. Clients and other agents choose by it.',
  modules: 'The parts that the agent consists of.',
  exchange: 'Providers of dependencies. Only needed where several modules provide the same protocol.',
  schedules: 'Times at which the agent runs by itself, on `serve` and `worker`.',
  triggers: 'Signed requests that start a run, at /triggers/<agent>/<id>.',
  input: 'JSON Schema (type: object) of what the agent takes instead of a message when it is called as a tool.',
  output: 'JSON Schema (type: object) of the JSON that the agent answers with.',
  conversation: 'Whether calls as a tool may continue a conversation.',
  annotations: 'Hints of MCP about what the agent does.',
}

const MODULE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  id: 'The name of the module within the agent.',
  module: 'Which module: <package>/<item>, a file of modules/, ./file.ts or an npm package; #Name picks an export.',
  scope: 'instance: one for each run. agent: one, shared by all runs.',
  config: 'What the module is configured with. ${NAME} and ${NAME:-default} come from the environment.',
  provides: 'Protocols; what the module declares when left out.',
  uses: 'Protocols; what the module declares when left out.',
}

/**
 * A JSON Schema (draft 7, which editors know) of the agent files of a project: it knows every module of the library and of the
 * project's `modules/`, and the config of each. A module that cannot be loaded is one whose config is not known.
 *
 * @param projectDir absolute
 */
export async function makeAgentFileSchema(projectDir: string): Promise<JsonSchema> {
  const modules = await describeModules(projectDir)
  const schema = JSON.parse(JSON.stringify(AgentSchema)) as { properties: Record<string, JsonSchema> }
  const properties = describe(schema.properties, DESCRIPTIONS)
  const entry = (properties.modules as { items: JsonSchema }).items
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'An agent of agent-host',
    ...schema,
    additionalProperties: false,
    properties: {
      ...properties,
      modules: { ...properties.modules, items: makeEntry(entry, modules) },
      schedules: close(properties.schedules as { items: JsonSchema }),
      triggers: close(properties.triggers as { items: JsonSchema }),
      exchange: close(properties.exchange as { items: JsonSchema }),
    },
  }
}

/** Entries of the project's modules, which stand for those of the library with the same name, and of the library. */
export async function describeModules(projectDir: string): Promise<readonly CatalogEntry[]> {
  const loader = new ModuleLoader(projectDir, new ProjectCode(projectDir))
  const own = new Set(listProjectModules(projectDir))
  const loads = [...own].map((reference) => loader.load(reference).catch(() => []))
  const loaded = (await Promise.all(loads)).flat()
  const ofProject = loaded.map(({ reference, module: { description, config } }) => ({ reference, description, config }))
  const ofLibrary = (await readLibraryCatalog()).filter(({ reference }) => !own.has(reference))
  return [...ofProject, ...ofLibrary].sort((one, other) => (one.reference < other.reference ? -1 : 1))
}

function makeEntry(entry: JsonSchema, modules: readonly CatalogEntry[]): JsonSchema {
  const properties = describe(entry.properties as Record<string, JsonSchema>, MODULE_DESCRIPTIONS)
  const known = modules.map(({ reference, description }) => ({ const: reference, description }))
  return {
    ...entry,
    additionalProperties: false,
    properties: {
      ...properties,
      module: { ...properties.module, anyOf: [...known, { type: 'string', minLength: 1 }] },
    },
    // The config of a module that is not listed may be anything.
    allOf: modules.map(({ reference, config }) => ({
      if: { properties: { module: { const: reference } }, required: ['module'] },
      // biome-ignore lint/suspicious/noThenProperty: that is the keyword of JSON Schema
      then: { properties: { config: forFiles(JSON.parse(JSON.stringify(config))) } },
    })),
  }
}

const VARIABLE = { type: 'string', pattern: '\\$\\{[^}]*\\}' }
const SCALARS = ['number', 'integer', 'boolean']
/** A Markdown file of the project in the place of a text. */
const FILE = {
  type: 'object',
  properties: { file: { type: 'string', pattern: '\\.md$' } },
  required: ['file'],
  additionalProperties: false,
}

/** Tells the schema of a prompt from those of names, addresses and words. */
function isText({ type, ...rest }: JsonSchema): boolean {
  return type === 'string' && Object.keys(rest).every((keyword) => keyword === 'variant')
}

/**
 * The schema of a value in a file: fields with a default are optional, unknown keys are errors, and
 * an environment variable may replace any number or boolean.
 */
function forFiles(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forFiles)
  if (!isObject(schema)) return schema
  const { description, default: fallback, ...rest } = schema
  const annotations = {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  }
  if (SCALARS.includes(rest.type as string)) return { ...annotations, anyOf: [rest, VARIABLE] }
  if (isText(rest)) return { ...annotations, anyOf: [rest, FILE] }
  const { properties, required, ...others } = rest
  return {
    ...annotations,
    ...mapFields(others, forFiles),
    ...(properties ? objectSchema(properties as Fields, required, rest) : {}),
  }
}

/** Below `properties` the names are a module's own. */
function objectSchema(properties: Fields, required: unknown, { additionalProperties = false }: JsonSchema): JsonSchema {
  const hasDefault = (name: string) => fieldsOf(properties[name]).default !== undefined
  const needed = ((required ?? []) as string[]).filter((name) => !hasDefault(name))
  return {
    properties: mapFields(properties, forFiles),
    additionalProperties: forFiles(additionalProperties),
    ...(needed.length > 0 ? { required: needed } : {}),
  }
}

function describe(
  properties: Readonly<Record<string, JsonSchema>>,
  descriptions: Readonly<Record<string, string>>,
): Record<string, JsonSchema> {
  return mapFields(properties, (schema, name) => {
    const description = descriptions[name]
    return description === undefined ? schema : { description, ...schema }
  })
}

function close(list: { items: JsonSchema }): JsonSchema {
  return { ...list, items: { ...list.items, additionalProperties: false } }
}
