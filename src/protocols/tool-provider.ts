import type { Attachment } from './message.ts'
import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** Result of a tool call. */
export interface ToolResult {
  /** Text for the model. */
  readonly text: string
  /** The same as a value, where the tool returned more than a text. */
  readonly data?: unknown
  readonly attachments?: readonly Attachment[]
  /** True if `text` describes a failure that the model may work around. */
  readonly isError?: boolean
  /** True where a person or a policy did not allow the call. Set by the host: nothing was executed, and nothing failed. */
  readonly isRejected?: boolean
}

/** Need of an approval: yes, no, or as the module of this id decides. */
export type ApprovalNeed = boolean | { readonly policy: string }

/**
 * A set of tools.
 *
 * @example
 * ```ts
 * export const clock = defineModule({
 *   name: 'Clock',
 *   provides: [ToolProvider],
 *   create: () => ({
 *     listTools: () => [{ name: 'now', description: 'Tells the time.', parameters: Type.Object({}) }],
 *     executeTool: async () => ({ text: new Date().toISOString() }),
 *   }),
 * })
 * ```
 */
export interface ToolProvider {
  /** In a stable order. */
  listTools(run: Run): readonly ToolDefinition[] | Promise<readonly ToolDefinition[]>
  /**
   * Calls a tool. Throws when there is no tool of that name, when the arguments do not fit its schema, when it fails, and
   * when `run.signal` aborts.
   */
  executeTool(name: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult>
  /**
   * Returns true for a call that a person has to approve first. `{ policy }` leaves it to the `ApprovalPolicy` of that id in the
   * agent. The host calls this before each call; left out: never.
   */
  needsApproval?(name: string, args: Readonly<Record<string, unknown>>, run: Run): ApprovalNeed | Promise<ApprovalNeed>
}
export const ToolProvider = defineProtocol<ToolProvider>('ToolProvider', ['listTools', 'executeTool'])
