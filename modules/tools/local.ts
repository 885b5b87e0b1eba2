import { defineModule, ToolProvider, Type } from 'agent-host'
import { checkRules, needOf, Rule, ruleOf, withApproval } from './lib/approval-rules.ts'
import { findTool } from './lib/find-tool.ts'
import { loadCodeTools } from './lib/local/code-tools.ts'
import type { LocalTool } from './lib/local/local-tool.ts'
import { PythonTools } from './lib/local/python-tools.ts'

export default defineModule({
  name: 'LocalTools',
  description: 'Functions in TypeScript, JavaScript or Python files of the project, as tools.',
  provides: [ToolProvider],
  scope: 'agent',
  config: Type.Object({
    files: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: 'Files with tools (.ts, .mts, .js, .mjs, .py), relative to the project.',
    }),
    include: Type.Optional(Type.Array(Type.String(), { description: 'Names of the tools to offer. Default: all.' })),
    exclude: Type.Array(Type.String(), { default: [], description: 'Names of tools to hide.' }),
    approval: Type.Optional(
      Type.Union([Rule, Type.Record(Type.String(), Rule)], {
        description:
          "Calls that a person has to approve: always, never, the id of a module that decides (ApprovalPolicy), or a map from globs of tool names to one of these; the first match wins. Default: the tool's own `needsApproval`.",
      }),
    ),
    timeout: Type.Number({ minimum: 0.001, default: 30, description: 'Maximum seconds of one call.' }),
    python: Type.Optional(
      Type.String({
        description:
          "Python interpreter. Default: the project's .venv, otherwise the version in .python-version, otherwise python3.",
      }),
    ),
    env: Type.Array(Type.String(), {
      default: [],
      description: 'Variables that Python gets in addition to PATH, HOME and the like.',
    }),
  }),
  create: async (_, config, context) => {
    checkRules(config.approval, ['always', 'never'], context)
    const python = new PythonTools(config, context)
    try {
      const groups: LocalTool[][] = []
      for (const file of config.files) {
        groups.push(file.endsWith('.py') ? await python.load(file) : await loadCodeTools(file, config.timeout, context))
      }
      const tools = byName(groups.flat(), config)
      const definitions = [...tools.values()].map(({ definition, approval }) => {
        const rule = ruleOf(config.approval, definition.name)
        return withApproval(definition, rule === undefined ? approval : needOf(rule))
      })
      return {
        listTools: () => definitions,
        async executeTool(name, args, run) {
          const tool = findTool(tools, name)
          run.signal.throwIfAborted()
          return tool.execute(args, run)
        },
        needsApproval(name, args, run) {
          const rule = ruleOf(config.approval, name)
          return rule === undefined ? (tools.get(name)?.needsApproval(args, run) ?? false) : needOf(rule)
        },
        [Symbol.asyncDispose]: () => python.close(),
      }
    } catch (error) {
      await python.close()
      throw error
    }
  },
})

function byName(
  tools: readonly LocalTool[],
  { include, exclude }: { include?: readonly string[]; exclude: readonly string[] },
): ReadonlyMap<string, LocalTool> {
  const known = tools.map(({ definition }) => definition.name)
  const unknownName = [...(include ?? []), ...exclude].find((name) => !known.includes(name))
  if (unknownName !== undefined)
    throw new Error(`There is no tool '${unknownName}' in the files. Tools: ${known.join(', ')}.`)
  const named = new Map<string, LocalTool>()
  for (const tool of tools) {
    const { name } = tool.definition
    if (!(include?.includes(name) ?? true) || exclude.includes(name)) continue
    const other = named.get(name)
    if (other) throw new Error(`The tool '${name}' is in ${other.file} and in ${tool.file}: rename or exclude one.`)
    named.set(name, tool)
  }
  return named
}
