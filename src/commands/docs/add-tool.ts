import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server'
import { didYouMean } from '../../definition/nearest-name.ts'
import { badOption, HostError } from '../../errors.ts'

/** Arguments of a call, all of them texts that may be left out. */
export type Arguments = Readonly<Record<string, string | undefined>>

/** Adds a tool of MCP that reads something, and gives it as text. */
export type AddTool = (
  name: string,
  description: string,
  takes: readonly string[],
  read: (args: Arguments) => Promise<string> | string,
) => void

export function addsTo(server: McpServer): AddTool {
  return (name, description, takes, read) => {
    const properties = Object.fromEntries(takes.map((each) => [each, { type: 'string' }]))
    const inputSchema = fromJsonSchema<Arguments>({ type: 'object', properties, additionalProperties: false })
    server.registerTool(name, { description, inputSchema, annotations: { readOnlyHint: true } }, async (args) => ({
      content: [{ type: 'text', text: await withNextSteps(() => read(args)) }],
    }))
  }
}

/** The SDK answers with the message of an error, which needs the next steps too. */
async function withNextSteps(read: () => Promise<string> | string): Promise<string> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof HostError) throw new Error([error.message, ...error.suggestions].join('\n'), { cause: error })
    throw error
  }
}

/** @throws HostError `OPTION_INVALID` for a name that is not among the known ones */
export function requireKnown<T>(known: ReadonlyMap<string, T>, name: string, kind: string): T {
  const found = known.get(name)
  if (found !== undefined) return found
  throw badOption(`There is no ${kind} '${name}'.`, { suggestions: didYouMean(name, known.keys()) })
}
