import type { Static, TObject } from 'typebox'
import { HostError } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import type { Run } from '../protocols/run.ts'

/** A function that a model can call, as {@link defineTool} returns it: still a function, with the description that models see. */
export interface Tool<P extends TObject = TObject> {
  (args: Static<P>, run?: Run): unknown
  readonly description: string
  readonly parameters: P
  readonly needsApproval: NeedsApproval<P>
}

/** Tells whether a person has to approve a call before it is executed, for all calls or by their arguments. */
export type NeedsApproval<P extends TObject> = boolean | ((args: Static<P>, run: Run) => boolean | Promise<boolean>)

/** Argument of {@link defineTool}. */
export interface ToolOptions<P extends TObject> {
  /** Description of the tool's effect and use: the model chooses by it. */
  readonly description: string
  /** Made with `Type.Object`; the arguments are checked against it, and its defaults filled in, before `execute`. */
  readonly parameters: P
  /**
   * Does the work. Strings are passed to the model verbatim, other values as JSON, errors by their message.
   * `run` is absent only where the tool is called by hand.
   */
  execute(args: Static<P>, run?: Run): unknown
  /** Default: false. The `approval` of `tools/local` goes before it. */
  readonly needsApproval?: NeedsApproval<P>
}

/**
 * Defines a tool: `export const currentTime = defineTool({ description, parameters, execute })`. It is named by its export.
 *
 * @throws HostError `MODULE_INVALID` when a fact is missing or of the wrong kind
 *
 * @example
 * ```ts
 * export const countWords = defineTool({
 *   description: 'Counts the words of a text.',
 *   parameters: Type.Object({ text: Type.String() }),
 *   execute: ({ text }) => ({ words: text.split(/\s+/).filter((word) => word !== '').length }),
 * })
 * ```
 */
export function defineTool<P extends TObject>(options: ToolOptions<P>): Tool<P> {
  const { description, parameters, execute, needsApproval = false } = fieldsOf(options) as Partial<ToolOptions<P>>
  if (typeof description !== 'string' || description === '') throw invalid("'description' must be a non-empty string.")
  if (parameters?.type !== 'object') {
    throw invalid("'parameters' must be a schema made with Type.Object.")
  }
  if (typeof execute !== 'function') throw invalid("'execute' must be a function.")
  if (typeof needsApproval !== 'boolean' && typeof needsApproval !== 'function') {
    throw invalid("'needsApproval' must be a boolean or a function.")
  }
  const call = (args: Static<P>, run?: Run) => execute(args, run)
  return Object.freeze(Object.assign(call, { description, parameters, needsApproval }))
}

function invalid(problem: string): HostError {
  return new HostError('MODULE_INVALID', `defineTool: ${problem}`)
}
