import { Flags } from '@oclif/core'
import { formatProblem, type Problem } from '../definition/problem.ts'
import { HostError } from '../errors.ts'
import type { AgentInfo } from '../run/turn.ts'
import { SERVER_OPTIONS } from '../server/options.ts'
import { BaseCommand } from './base-command.ts'
import { openAgents } from './open-agents.ts'
import { plural } from './plural.ts'

const { variable, description, default: fallback } = SERVER_OPTIONS.agentDir

export default class Check extends BaseCommand {
  static override description =
    'Checks every agent of this project: that its modules load, its wiring is clear and its config fits.'
  static override examples = ['<%= config.bin %> check', '<%= config.bin %> check --json']
  static override flags = {
    'agent-dir': Flags.string({ description: `${description} [default: ${fallback}]`, env: variable }),
    json: Flags.boolean({ description: 'Print the result as JSON' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Check)
    const { agents, problems } = await checkProject(flags['agent-dir'] ?? fallback)
    if (flags.json) this.log(JSON.stringify({ agents, problems }, null, 2))
    else this.#print(agents, problems)
    if (problems.length > 0) this.exit(1)
  }

  #print(agents: readonly AgentInfo[], problems: readonly Problem[]): void {
    for (const { id, file, modules } of agents) {
      this.log(`${file}: '${id}' is fine`)
      for (const module of modules) this.log(`  ${module.id}: ${module.module} (${module.source})`)
    }
    for (const problem of problems) {
      this.logToStderr(formatProblem(problem))
      for (const suggestion of problem.suggestions) this.logToStderr(`  ${suggestion}`)
    }
    this.log(`${plural(agents.length, 'agent')}, ${plural(problems.length, 'problem')}`)
  }
}

async function checkProject(agentDir: string): Promise<{ agents: AgentInfo[]; problems: Problem[] }> {
  try {
    const { host, folder, close } = await openAgents(agentDir)
    const found = { agents: host.list(), problems: folder.problems() }
    await close()
    return found
  } catch (error) {
    // The folder itself is the problem.
    if (!(error instanceof HostError)) throw error
    return { agents: [], problems: [{ message: error.message, suggestions: error.suggestions }] }
  }
}
