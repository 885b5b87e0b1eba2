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

/** Need of an approval: yes, no, or as the module of this id decides by these arguments. Default: the model's arguments. */
export type ApprovalNeed = boolean | { readonly policy: string; readonly arguments?: Readonly<Record<string, unknown>> }

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
  /**
   * Returns the tools, in a stable order.
   *
   * @remarks An orchestrator calls it once in each run, before the first model call; the host calls it again where a call waits, or continues.
   * @throws unknown fails the run
   */
  listTools(run: Run): readonly ToolDefinition[] | Promise<readonly ToolDefinition[]>
  /**
   * Calls a tool.
   *
   * @remarks An orchestrator calls it once for each call of the model, those of one step in parallel. The host refuses a call that needs an approval before it gets here.
   * @throws unknown when there is no tool of that name, the arguments do not fit its schema, or it fails: the orchestrators of the library give the message to the model. The
   * reason of the abort when `run.signal` aborts
   */
  executeTool(name: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult>
  /**
   * Returns true for a call that a person has to approve first. `{ policy }` leaves it to the `ApprovalPolicy` of that id in the
   * agent, which decides by `arguments`: those that the tool will get, with defaults. Left out: never.
   *
   * @remarks The host calls it before each call, also when a run continues with a decision: equal calls need equal answers.
   * @throws unknown fails the call: nothing is executed, and the model reads the message
   */
  needsApproval?(name: string, args: Readonly<Record<string, unknown>>, run: Run): ApprovalNeed | Promise<ApprovalNeed>
}
export const ToolProvider = defineProtocol<ToolProvider>('ToolProvider', ['listTools', 'executeTool'])
