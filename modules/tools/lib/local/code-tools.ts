import { basename, extname } from 'node:path'
import {
  type ArgumentCheck,
  isObject,
  type ModuleContext,
  makeArgumentCheck,
  type Run,
  type Tool,
  type ToolResult,
} from 'agent-host'
import { toToolResult, withinTimeout } from '../tool-result.ts'
import type { LocalTool } from './local-tool.ts'

const HOW_TO =
  "export const myTool = defineTool({ description: '...', parameters: Type.Object({}), execute() { ... } })"

/**
 * The tools of a TypeScript or JavaScript file: every export that comes from `defineTool`, or is a function with a
 * `description` and `parameters`. Other exports are helpers.
 */
export async function loadCodeTools(file: string, timeout: number, context: ModuleContext): Promise<LocalTool[]> {
  const exports = await context.importFile(file)
  const tools = Object.entries(exports).flatMap(([name, value]) => {
    if (!isTool(value)) return []
    return [makeTool(name === 'default' ? basename(file, extname(file)) : name, value, file, timeout)]
  })
  if (tools.length === 0) throw new Error(`${file} has no tool. Write: ${HOW_TO}`)
  return tools
}

function isTool(value: unknown): value is Tool {
  if (typeof value !== 'function') return false
  return typeof Reflect.get(value, 'description') === 'string' && isObject(Reflect.get(value, 'parameters'))
}

function makeTool(name: string, tool: Tool, file: string, timeout: number): LocalTool {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new Error(`${file}: the tool name '${name}' must be 1 to 64 of A-Z a-z 0-9 _ -.`)
  const check = makeArgumentCheck(name, tool.parameters)
  return {
    file,
    definition: { name, description: tool.description, parameters: { ...tool.parameters } },
    approval: typeof tool.needsApproval === 'function' ? 'by-arguments' : (tool.needsApproval ?? false),
    check,
    needsApproval: (args, run) => needsApproval(tool, check, args, run),
    execute: async (args, run) => execute(name, tool, check(args), timeout, run),
  }
}

/** Decides by the arguments that the tool would get. @throws Error for arguments that do not fit */
async function needsApproval(
  { needsApproval: decide = false }: Partial<Tool>,
  check: ArgumentCheck,
  args: Readonly<Record<string, unknown>>,
  run: Run,
): Promise<boolean> {
  return typeof decide === 'boolean' ? decide : decide(check(args), run)
}

async function execute(
  name: string,
  tool: Tool,
  args: Record<string, unknown>,
  timeout: number,
  run: Run,
): Promise<ToolResult> {
  const controller = controllerWithin(run.signal)
  const ofCall = run.with({ signal: controller.signal })
  try {
    const call = Promise.resolve().then(() => tool(args, ofCall))
    return toToolResult(name, await withinTimeout(name, call, timeout, run.signal))
  } catch (error) {
    controller.abort(error)
    throw error
  }
}

/** Controller of one call, which ends with its run at the latest. `AbortSignal.any` takes about four times as long. */
function controllerWithin(run: AbortSignal): AbortController {
  const controller = new AbortController()
  const abort = () => controller.abort(run.reason)
  if (run.aborted) abort()
  else run.addEventListener('abort', abort, { once: true })
  return controller
}
