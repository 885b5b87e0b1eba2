import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { HostError, messageOf } from '../errors.ts'
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

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Init)
    const folder = resolve(args.project_name)
    refuseUsedFolder(folder)
    checkPythonVersion(flags.python)
    const llm = flags.llm ?? (flags.yes || !process.stdin.isTTY ? 'offline' : await askForProvider())
    await makeProject(folder, { name: args.project_name, llm, python: flags.python })
    this.log(`Made ${args.project_name}:`)
    if (flags.python) await this.#warnOfMissingPython(flags.python)
    if (flags.install) await this.#install(folder)
    const provider = PROVIDERS.find(({ name }) => name === llm)
    if (provider)
      this.log(
        `  Set ${provider.variable} in ${join(args.project_name, '.env')}; until then the offline model answers.`,
      )
    this.log(`  cd ${args.project_name}\n  agent-host dev`)
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

function refuseUsedFolder(folder: string): void {
  try {
    if (!existsSync(folder) || readdirSync(folder).length === 0) return
  } catch (cause) {
    throw new HostError('PROJECT_INVALID', `${folder} cannot be used: ${messageOf(cause)}`, { cause })
  }
  throw new HostError('PROJECT_INVALID', `The folder ${folder} is not empty.`, {
    suggestions: ['Choose another name, or empty the folder. Nothing was changed.'],
  })
}

function checkPythonVersion(version: string | undefined): void {
  if (version === undefined || /^\d+(\.\d+){0,2}$/.test(version)) return
  throw new HostError('OPTION_INVALID', `--python must be a version such as 3.12, not '${version}'.`)
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

/** Made beside its place and moved there when it is whole. */
async function makeProject(
  folder: string,
  choices: { name: string; llm: string; python?: string | undefined },
): Promise<void> {
  const { default: fsExtra } = await import('fs-extra')
  const { planProject } = await import('../project/plan-project.ts')
  const { writeFiles } = await import('../project/write-files.ts')
  const draft = join(dirname(folder), `.${basename(folder)}.${process.pid}.tmp`)
  try {
    await fsExtra.ensureDir(draft)
    await writeFiles(draft, await planProject(choices))
    // Onto an empty folder or none; it fails when something came in between.
    await fsExtra.rename(draft, folder)
  } catch (cause) {
    throw new HostError('PROJECT_INVALID', `The project could not be made: ${messageOf(cause)}`, { cause })
  } finally {
    await fsExtra.remove(draft)
  }
}
