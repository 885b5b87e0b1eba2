import { existsSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import type { Problem } from '../definition/problem.ts'
import { badProject, HostError } from '../errors.ts'
import { isAgentFile } from '../host/agent-folder/list-agent-files.ts'
import type { AgentInfo } from '../run/agent/agent-info.ts'
import { agentDirFlag, DEFAULT_AGENT_DIR } from './agents/agent-dir-flag.ts'
import { type CheckedAgents, checkAgents, linesOf } from './agents/check-agents.ts'
import { repeatOnChange } from './agents/repeat-on-change.ts'
import { BaseCommand } from './base-command.ts'
import { runAgain } from './server/run-again.ts'
import { plural } from './terminal/plural.ts'

export default class Check extends BaseCommand {
  static override description =
    'Checks the agents of this project: modules, wiring and config. Writes the schema for editors.'
  static override examples = ['agent-host check', 'agent-host check agents/example.yml', 'agent-host check --watch']
  static override args = {
    files: Args.string({ description: 'Agent files to check [default: all]', multiple: true, ignoreStdin: true }),
  }
  static override flags = {
    watch: Flags.boolean({ description: 'Check again when a file of the project changes', exclusive: ['json'] }),
    json: Flags.boolean({ description: 'Print the result as JSON' }),
    'agent-dir': agentDirFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Check)
    if (flags.watch) return repeatOnChange(() => runAgain(['check', ...this.argv.filter((word) => word !== '--watch')]))
    const agentDir = flags['agent-dir'] ?? DEFAULT_AGENT_DIR
    const { warnings, ...checked } = await this.#check(agentDir)
    const { agents, problems } = pick(checked, this.#named(args.files ?? [], agentDir))
    await this.#keepSchema()
    for (const warning of warnings) this.warn(warning)
    if (flags.json) this.printJson({ agents, problems })
    else this.#print(agents, problems)
    if (problems.length > 0) this.exit(1)
  }

  async #check(agentDir: string): Promise<CheckedAgents> {
    try {
      this.requireProject()
      return await checkAgents(agentDir)
    } catch (error) {
      // The folder itself is the problem.
      if (!(error instanceof HostError)) throw error
      return { agents: [], problems: [{ message: error.message, suggestions: error.suggestions }], warnings: [] }
    }
  }

  /** Files of the project, as problems name them. */
  #named(files: readonly string[], agentDir: string): string[] {
    return files.map((file) => {
      const path = this.pathOf(file)
      const isFile = statSync(path, { throwIfNoEntry: false })?.isFile()
      if (isFile && isAgentFile(relative(resolve(agentDir), path))) return relative(process.cwd(), path)
      throw badProject(`${file} is no agent file of this project.`, {
        suggestions: [`Agent files are in ${agentDir}.`],
      })
    })
  }

  /** Editors complete and check with it; a folder without agents gets nothing. */
  async #keepSchema(): Promise<void> {
    if (!existsSync('agents')) return
    const { keepSchema } = await import('../project/keep-schema.ts')
    await keepSchema(process.cwd(), (message) => this.warn(message))
  }

  #print(agents: readonly AgentInfo[], problems: readonly Problem[]): void {
    for (const { id, file, modules } of agents) {
      if (problems.some((problem) => problem.file === file)) continue
      this.log(`${file}: '${id}' is fine`)
      for (const module of modules) this.log(`  ${module.id}: ${module.module} (${module.source})`)
    }
    for (const problem of problems) {
      for (const line of linesOf(problem)) this.logToStderr(line)
    }
    this.log(`${plural(agents.length, 'agent')}, ${plural(problems.length, 'problem')}`)
  }
}

/** Returns the agents and problems of certain files; all of them when none is named. */
function pick<T extends { file?: string }, P extends { file?: string }>(
  { agents, problems }: { agents: readonly T[]; problems: readonly P[] },
  files: readonly string[],
) {
  const isMeant = ({ file = '' }: { file?: string }) => files.length === 0 || files.includes(file)
  return { agents: agents.filter(isMeant), problems: problems.filter(isMeant) }
}
