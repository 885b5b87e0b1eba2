import type { JsonObjectSchema } from '../definition/definition.ts'
import { messageOf } from '../errors.ts'

/**
 * Returns why official clients of MCP cannot compile the output schema of an agent; undefined when they can. Of one that they cannot compile, some
 * list no tool of the server at all. The check is theirs, and loaded for agents with such a schema alone.
 */
export async function findClientFault(schema: JsonObjectSchema): Promise<string | undefined> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/server/validators/ajv')
  try {
    new AjvJsonSchemaValidator().getValidator(structuredClone(schema))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
