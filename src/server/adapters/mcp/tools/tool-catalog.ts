import type { JsonObjectSchema, ToolAnnotations } from '../../../../definition/definition.ts'
import { getOrAdd } from '../../../../get-or-add.ts'
import { isObject } from '../../../../json.ts'
import type { AgentInfo } from '../../../../run/agent/agent-info.ts'
import { makeMisfitFinder } from '../../../../run/checks/check-schema.ts'
import { invalidParams } from '../json-rpc.ts'
import { cutPage } from '../pages.ts'

/** A tool as clients see it (`Tool` of the MCP schema). */
export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObjectSchema
  readonly outputSchema?: JsonObjectSchema
  readonly annotations?: ToolAnnotations
}

/** Arguments of a call to an agent. */
export interface ToolInput {
  readonly text: string
  /** The arguments, for an agent that declares its input. */
  readonly input: Readonly<Record<string, unknown>> | undefined
  readonly conversationId: string | undefined
}

const MESSAGE: JsonObjectSchema = {
  type: 'object',
  properties: { message: { type: 'string', description: 'The text to send to the agent' } },
  required: ['message'],
}

const CONVERSATION_ID = {
  type: 'string',
  description: 'Continues a conversation: the conversation_id that an earlier answer ended with. Left out: a new one.',
}

/** The agents as tools, computed once for each version of an agent. */
export class ToolCatalog {
  /** An agent's info is frozen, and another object for each version. */
  readonly #tools = new WeakMap<AgentInfo, readonly Tool[]>()
  readonly #misfitFinders = new WeakMap<JsonObjectSchema, ReturnType<typeof makeMisfitFinder>>()

  /**
   * Returns a page of the tools, by name.
   *
   * @throws JsonRpcError `INVALID_PARAMS` for a foreign cursor
   */
  list(agents: readonly AgentInfo[], cursor: unknown): { tools: readonly Tool[]; nextCursor?: string | undefined } {
    const all = agents.flatMap((info) => this.#toolsOf(info))
    const { items: tools, nextCursor } = cutPage(all, ({ name }) => name, cursor)
    return { tools, nextCursor }
  }

  /**
   * Reads the arguments of a call.
   *
   * An agent that declares an `input` is given its arguments as they are, and as text the one named `message`, or all of them as
   * JSON.
   *
   * @throws JsonRpcError `INVALID_PARAMS` naming the field
   */
  readArguments(info: AgentInfo, given: unknown = info.input && {}): ToolInput {
    if (!isObject(given)) throw invalidParams('arguments must be an object')
    const { message } = given
    const conversationId = info.conversation ? readConversationId(given.conversation_id) : undefined
    if (!info.input) {
      if (typeof message !== 'string') throw invalidParams('arguments.message must be a string')
      return { text: message, input: undefined, conversationId }
    }
    const { conversation_id: _, ...others } = given
    const input = info.conversation ? others : given
    const problem = this.findProblem(info.input, input)
    if (problem !== undefined) throw invalidParams(`arguments: ${problem}`)
    return { text: typeof message === 'string' ? message : JSON.stringify(input), input, conversationId }
  }

  /** Returns the mismatch between a value and a schema as a sentence; undefined if the value matches. */
  findProblem(schema: JsonObjectSchema, value: unknown): string | undefined {
    return getOrAdd(this.#misfitFinders, schema, () => makeMisfitFinder(schema))(value)
  }

  #toolsOf(info: AgentInfo): readonly Tool[] {
    return getOrAdd(this.#tools, info, () =>
      info.entryPoints.length > 1 ? info.entryPoints.map((name) => toTool(info, name)) : [toTool(info)],
    )
  }
}

function toTool(info: AgentInfo, entryPoint?: string): Tool {
  const { id, title, description, input = MESSAGE, output, annotations, conversation } = info
  const about = description || `The agent ${id}`
  const properties = { ...input.properties, conversation_id: CONVERSATION_ID }
  return {
    name: entryPoint === undefined ? id : `${id}.${entryPoint}`,
    title: title && entryPoint ? `${title} (${entryPoint})` : title,
    description: entryPoint === undefined ? about : `${about} (handled by ${entryPoint})`,
    inputSchema: conversation ? { ...input, properties } : input,
    outputSchema: output,
    annotations,
  }
}

function readConversationId(id: unknown): string | undefined {
  if (id == null) return undefined
  if (typeof id === 'string') return id
  throw invalidParams('conversation_id must be a string')
}
