import {
  type ArgumentCheck,
  type CallableAgent,
  defineModule,
  makeArgumentCheck,
  type Run,
  ToolProvider,
  type ToolResult,
  Type,
} from 'agent-host'
import { checkRules, needOf, Rule, ruleOf, withApproval } from './lib/approval-rules.ts'
import { approvalOf, prefix } from './lib/settings.ts'

const MESSAGE = Type.Object({ message: Type.String({ minLength: 1, description: 'What to ask the agent.' }) })

export default defineModule({
  name: 'AgentTools',
  description: 'Other agents of the project as tools.',
  provides: [ToolProvider],
  scope: 'agent',
  config: Type.Object({
    agents: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: 'Ids of agents, or globs of them; `<agent>/<entry point>` for one entry point.',
    }),
    prefix,
    approval: approvalOf(Rule, { default: 'never' }),
  }),
  create: (_, { agents, prefix, approval }, context) => {
    checkRules(approval, ['always', 'never'], context)
    const list = context.callsAgents(agents)
    let latest = list()
    let tools = toTools(latest, prefix, (problem) => {
      throw new Error(problem)
    })
    const needOfCalls = (name: string) => needOf(ruleOf(approval, name) ?? 'never')
    const listTools = () => {
      const listed = list()
      // Agents that come later stop no run.
      if (listed !== latest) tools = toTools(listed, prefix, (problem) => context.log.warn(problem))
      latest = listed
      return tools
    }
    return {
      listTools: () =>
        listTools().map(({ check: _, agent: __, ...definition }) =>
          withApproval(definition, needOfCalls(definition.name)),
        ),
      async executeTool(name, args, run) {
        const tool = listTools().find((each) => each.name === name)
        if (!tool) {
          const known = tools.map((each) => each.name).join(', ') || 'none'
          throw new Error(`There is no agent behind '${name}' any more. Agents: ${known}.`)
        }
        return call(tool, args, run)
      },
      needsApproval(name, args) {
        const tool = listTools().find((each) => each.name === name)
        return needOf(ruleOf(approval, name) ?? 'never', tool && (() => tool.check(args)))
      },
    }
  },
})

interface AgentTool {
  readonly agent: CallableAgent
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly check: ArgumentCheck
}

/** @param onClash called for an agent whose tool has the name of another's: it is left out */
function toTools(agents: readonly CallableAgent[], prefix: string, onClash: (problem: string) => void): AgentTool[] {
  const named = new Map<string, AgentTool>()
  for (const agent of agents) {
    const name = (prefix + agent.name).replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
    const other = named.get(name)
    if (other) {
      onClash(`The agents '${other.agent.name}' and '${agent.name}' both become the tool '${name}'.`)
      continue
    }
    const parameters: AgentTool['parameters'] = agent.input ?? { ...MESSAGE }
    const description = agent.description || `Asks the agent ${agent.name}.`
    named.set(name, { agent, name, description, parameters, check: makeArgumentCheck(name, agent.input ?? MESSAGE) })
  }
  return [...named.values()]
}

async function call({ agent, check }: AgentTool, args: unknown, run: Run): Promise<ToolResult> {
  const input = check(args)
  const message = typeof input.message === 'string' ? input.message : JSON.stringify(input)
  const reply = await run.callAgent({ agent: agent.name, message, ...(agent.input ? { input } : {}) })
  return reply.attachments.length > 0 ? { ...reply } : { text: reply.text }
}
