import type { Run, ToolDefinition, ToolResult } from 'agent-host'

/** A tool in any language. */
export interface LocalTool {
  readonly definition: ToolDefinition
  /** The file that it comes from, as the config names it. */
  readonly file: string
  /** Need of all its calls, where they are alike. */
  readonly approval: boolean | 'by-arguments'
  /** Arguments that the tool will get, with its defaults. @throws Error if they do not fit and only the schema decides that */
  check(args: Readonly<Record<string, unknown>>): Record<string, unknown>
  /** Approval rule of the file; a config takes precedence. */
  needsApproval(args: Readonly<Record<string, unknown>>, run: Run): boolean | Promise<boolean>
  execute(args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult>
}
