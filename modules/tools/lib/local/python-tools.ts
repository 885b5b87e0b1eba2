import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  fieldsOf,
  type ModuleContext,
  makeArgumentCheck,
  type Run,
  type ToolDefinition,
  type ToolResult,
} from 'agent-host'
import { pickEnvironment } from '../child-environment.ts'
import { toToolResult, withinTimeout } from '../tool-result.ts'
import { findPython } from './find-python.ts'
import type { LocalTool } from './local-tool.ts'
import type { PythonChild } from './python-child.ts'

interface PythonConfig {
  readonly timeout: number
  readonly python?: string
  readonly env: readonly string[]
}

/** Report of the worker about a file. */
interface LoadedPython {
  readonly tools: readonly (ToolDefinition & { readonly needs_approval: boolean })[]
  /** The files of the project that were imported with it (absolute paths). */
  readonly files: readonly string[]
}

/**
 * Tools in Python files. All of them live in one child, started when the first file is loaded; one that is lost is
 * restarted by the next call.
 */
export class PythonTools {
  readonly #config: PythonConfig
  readonly #context: ModuleContext
  readonly #files = new Set<string>()
  readonly #children = new Set<PythonChild>()
  #current: Promise<PythonChild> | undefined
  #isClosed = false

  constructor(config: PythonConfig, context: ModuleContext) {
    this.#config = config
    this.#context = context
  }

  /** The tools of a file: its public functions. */
  async load(file: string): Promise<LocalTool[]> {
    const path = resolve(this.#context.projectDir, file)
    this.#context.watchFile(file)
    if (!existsSync(path)) throw new Error(`There is no file ${file}.`)
    const child = await this.#child()
    const { tools, files } = (await child.ask({ op: 'load', file: path }).result) as LoadedPython
    this.#files.add(path)
    for (const used of files) this.#context.watchFile(used)
    if (tools.length === 0) {
      throw new Error(
        `${file} has no tool: write a function with type hints and a docstring, its name without a leading underscore.`,
      )
    }
    return tools.map(({ needs_approval, ...definition }) => ({
      definition,
      file,
      approval: needs_approval,
      check: (args) => withDefaults(definition, args),
      needsApproval: () => needs_approval,
      execute: (args, run) => this.#execute(path, definition.name, args, run),
    }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#children].map((child) => child.close()))
  }

  async #execute(file: string, tool: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult> {
    const current = this.#child()
    const child = await current
    const call = child.ask({ op: 'call', file, tool, args }, (question) => run.ask(question))
    try {
      const value = await withinTimeout(tool, call.result, this.#config.timeout, run.signal)
      return toToolResult(tool, value ?? undefined)
    } catch (error) {
      // Another may have taken its place since.
      if (child.abandon(call) && this.#current === current) this.#current = undefined
      throw error
    }
  }

  #child(): Promise<PythonChild> {
    this.#current ??= this.#start().catch((error) => {
      this.#current = undefined
      throw error
    })
    return this.#current
  }

  async #start(): Promise<PythonChild> {
    // Most projects have no tool in Python.
    const { PythonChild } = await import('./python-child.ts')
    const { python, env } = this.#config
    const { projectDir, environment, log } = this.#context
    const interpreter = await findPython(projectDir, python)
    if (this.#isClosed) throw new Error('The tools in Python are closed.')
    const child: PythonChild = new PythonChild(interpreter, projectDir, pickEnvironment(environment, env), log, () => {
      void this.#forget(child)
    })
    this.#children.add(child)
    try {
      for (const file of this.#files) await child.ask({ op: 'load', file }).result
      return child
    } catch (error) {
      void child.close()
      throw error
    }
  }

  async #forget(child: PythonChild): Promise<void> {
    this.#children.delete(child)
    if ((await this.#current?.catch(() => undefined)) === child) this.#current = undefined
  }
}

/** Does not refuse arguments: Python itself decides what fits, and accepts more than its schema says, such as a date without a time zone. */
function withDefaults({ name, parameters }: ToolDefinition, args: Readonly<Record<string, unknown>>) {
  try {
    return makeArgumentCheck(name, parameters)(args)
  } catch {
    const defaults = Object.entries(fieldsOf(parameters.properties)).flatMap(([key, property]) => {
      const { default: value } = fieldsOf(property)
      return value === undefined ? [] : [[key, value]]
    })
    return { ...Object.fromEntries(defaults), ...args }
  }
}
