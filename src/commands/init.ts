import { join, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { HostError } from '../errors.ts'
import { PROVIDERS } from '../project/providers.ts'
import { BaseCommand } from './base-command.ts'

const LLMS = ['offline', ...PROVIDERS.map(({ name }) => name)]

export default class Init extends BaseCommand {
  static override description = 'Makes a project: an example agent that answers without any key, a tool, a test.'
  static override examples = [
    '<%= config.bin %> init myproj',
    '<%= config.bin %> init myproj --llm openai --python 3.12',
  ]
  static override args = {
    project_name: Args.string({ required: true, description: 'Folder to make; an empty one is fine' }),
  }
  static override flags = {
    python: Flags.string({
      description: 'Python version for tools in Python, kept in .python-version',
      helpValue: '3.12',
    }),
    llm: Flags.string({ description: 'Model provider to prepare .env for [default: offline]', options: LLMS }),
    yes: Flags.boolean({ char: 'y', description: 'Ask nothing' }),
    install: Flags.boolean({ description: 'Run npm install in the new project' }),
  }

  /** The `.env` of the folder that happens to be around is none of the new project's. */
  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Init)
    const { project_name: name } = args
    checkChoices(name, flags.python)
    const { makeProject, refuseUsedFolder } = await import('../project/make-project.ts')
    const { keepSchema } = await import('../project/keep-schema.ts')
    const folder = resolve(name)
    await refuseUsedFolder(folder)
    const asks = !flags.yes && process.stdin.isTTY && process.stdout.isTTY
    const llm = flags.llm ?? (asks ? await askForProvider() : 'offline')
    await makeProject(folder, { name: folder, llm, python: flags.python })
    await keepSchema(folder)
    this.log(`The project ${name} is made.`)
    if (flags.python) await this.#warnOfMissingPython(flags.python)
    if (flags.install) await this.#install(folder)
    const provider = PROVIDERS.find((each) => each.name === llm)
    if (provider) {
      this.log(`  Set ${provider.variable} in ${join(name, '.env')}; until then the offline model answers.`)
    }
    this.log(`  cd ${name}\n  agent-host dev`)
  }

  async #warnOfMissingPython(version: string): Promise<void> {
    const { execa } = await import('execa')
    const { failed } = await execa(`python${version}`, ['--version'], { reject: false })
    if (failed) this.warn(`There is no python${version} on this machine: tools in Python need it.`)
  }

  async #install(folder: string): Promise<void> {
    const { execa } = await import('execa')
    const { failed, exitCode } = await execa('npm', ['install'], { cwd: folder, stdio: 'inherit', reject: false })
    if (failed) this.warn(`npm install failed (exit code ${exitCode}); the project is there and works without it.`)
  }
}

function checkChoices(name: string, python: string | undefined): void {
  if (name.trim() === '') throw new HostError('OPTION_INVALID', 'The name of the project must not be empty.')
  if (python === undefined || /^\d+(\.\d+){0,2}$/.test(python)) return
  throw new HostError('OPTION_INVALID', `--python must be a version such as 3.12, not '${python}'.`)
}

async function askForProvider(): Promise<string> {
  const { default: inquirer } = await import('inquirer')
  const choices = [
    { name: 'None yet: the offline model answers, without key or network', value: 'offline' },
    ...PROVIDERS.map(({ name, title }) => ({ name: title, value: name })),
  ]
  const { llm } = await inquirer.prompt<{ llm: string }>([
    { type: 'select', name: 'llm', message: 'Which model provider do you use?', choices },
  ])
  return llm
}
