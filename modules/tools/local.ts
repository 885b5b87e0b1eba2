import { defineModule, ToolProvider, Type } from 'agent-host'
import { checkRules, needOf, ruleOf, withApproval } from './lib/approval-rules.ts'
import { findTool } from './lib/find-tool.ts'
import { loadCodeTools } from './lib/local/code-tools.ts'
import type { LocalTool } from './lib/local/local-tool.ts'
import { PythonTools } from './lib/local/python-tools.ts'
import { callTimeout, chooseByName, chosenNames, optionalApproval } from './lib/settings.ts'

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
    ...chosenNames(),
    approval: optionalApproval("the tool's own `needsApproval`."),
    timeout: callTimeout,
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
      const tools = chooseByName(groups.flat(), config, {
        thing: 'tool',
        place: 'files',
        remove: 'exclude',
        nameOf: ({ definition }) => definition.name,
        placeOf: ({ file }) => file,
      })
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
          const tool = tools.get(name)
          if (rule === undefined) return tool?.needsApproval(args, run) ?? false
          return needOf(rule, tool && (() => tool.check(args)))
        },
        [Symbol.asyncDispose]: () => python.close(),
      }
    } catch (error) {
      await python.close()
      throw error
    }
  },
})
