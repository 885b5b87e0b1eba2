import {
  checkArguments,
  compileSchema,
  defineModule,
  Memory,
  type MemoryEntry,
  type Run,
  ToolProvider,
  type ToolResult,
  Type,
} from 'agent-host'
import { findTool } from './lib/find-tool.ts'

const Id = Type.String({ minLength: 1, description: 'Id of the memory, as search and list tell it.' })
const Text = Type.String({
  minLength: 1,
  description: 'What to remember: one fact, in words that stand for themselves.',
})

const TOOLS = [
  makeTool(
    'store',
    'Remembers a text for later conversations.',
    Type.Object({ text: Text }),
    async ({ text }, memory, run) => {
      const id = await memory.store(text, { stored_at: new Date().toISOString() }, run)
      return { text: `Remembered as ${id}.`, data: { id } }
    },
  ),
  makeTool(
    'search',
    'Finds what was remembered about something. The most similar comes first.',
    Type.Object({
      query: Type.String({ minLength: 1, description: 'What it should be about.' }),
      limit: Type.Integer({ minimum: 1, maximum: 50, default: 5, description: 'How many at most.' }),
    }),
    async ({ query, limit }, memory, run) => tell(await memory.search(query, limit, run)),
  ),
  makeTool(
    'list',
    'Lists what was remembered last, oldest first.',
    Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many at most.' }) }),
    async ({ limit }, memory, run) => tell((await memory.list(run)).slice(-limit)),
  ),
  makeTool(
    'update',
    'Replaces a memory by a new text.',
    Type.Object({ id: Id, text: Text }),
    async ({ id, text }, memory, run) => {
      const { metadata = {} } = (await memory.get(id, run)) ?? {}
      const updated = { ...metadata, updated_at: new Date().toISOString() }
      return (await memory.update(id, text, updated, run)) ? { text: 'Replaced.' } : unknown(id)
    },
  ),
  makeTool('delete', 'Forgets a memory for good.', Type.Object({ id: Id }), async ({ id }, memory, run) =>
    (await memory.delete(id, run)) ? { text: 'Forgotten.' } : unknown(id),
  ),
]
const NAMES = TOOLS.map(({ name }) => name)

export default defineModule({
  name: 'MemoryTools',
  description: 'Gives a model tools to store, search, list, update and delete memories.',
  provides: [ToolProvider],
  uses: { memory: Memory },
  config: Type.Object({
    prefix: Type.String({ default: 'memory_', description: "Prefix of the tools' names." }),
    include: Type.Array(Type.String({ enum: NAMES }), { default: NAMES, description: 'Tools to offer.' }),
  }),
  create: ({ memory }, { prefix, include }) => {
    const tools = new Map(TOOLS.filter(({ name }) => include.includes(name)).map((tool) => [prefix + tool.name, tool]))
    return {
      listTools: () => Array.from(tools, ([name, { description, parameters }]) => ({ name, description, parameters })),
      async executeTool(name, args, run) {
        const tool = findTool(tools, name)
        run.signal.throwIfAborted()
        return tool.execute(name, args, memory, run)
      },
    }
  },
})

function makeTool<S extends Type.TObject>(
  name: string,
  description: string,
  parameters: S,
  work: (args: Type.Static<S>, memory: Memory, run: Run) => Promise<ToolResult>,
) {
  const compiled = compileSchema(parameters)
  return {
    name,
    description,
    parameters,
    execute: (calledAs: string, args: unknown, memory: Memory, run: Run) =>
      work(checkArguments(calledAs, compiled, args) as Type.Static<S>, memory, run),
  }
}

function tell(entries: readonly (MemoryEntry & { readonly score?: number })[]): ToolResult {
  const lines = entries.map(({ id, text }) => `[${id}] ${text}`)
  return { text: lines.join('\n') || 'Nothing was found.', data: entries }
}

function unknown(id: string): ToolResult {
  return { text: `There is no memory with the id '${id}'.`, isError: true }
}
