import { basename, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { Args, Flags } from '@oclif/core'
import { badOption } from '../errors.ts'
import { PROVIDERS } from '../project/create/providers.ts'
import { TEMPLATES, type TemplateName } from '../project/create/templates.ts'
import { runProgram } from '../project/run-program.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { BaseCommand } from './base-command.ts'
import type { Answers } from './init/ask-choices.ts'
import { canAsk } from './terminal/prompts.ts'

const LLMS = ['offline', ...PROVIDERS.map(({ name }) => name)]
const NAMES = Object.keys(TEMPLATES)
const PACKAGE_MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const
type PackageManager = (typeof PACKAGE_MANAGERS)[number]

export default class Init extends BaseCommand {
  static override description =
    'Creates a project: an agent that answers without a key, a tool and a test. On a terminal it prompts for the options you leave out.'
  static override examples = [
    'agent-host init',
    'agent-host init myproj --yes',
    'agent-host init myproj --template rag --llm openai --python 3.12',
  ]
  static override args = {
    project_name: Args.string({ description: 'Folder of the project; . is the current one', ignoreStdin: true }),
  }
  static override flags = {
    yes: Flags.boolean({ char: 'y', description: 'Skip all prompts; options you leave out have their defaults' }),
    template: Flags.string({ description: 'Template of the project [default: minimal]', options: NAMES }),
    llm: Flags.string({ description: 'Vendor of the model [default: offline]', options: LLMS }),
    'api-key': Flags.string({
      description: 'Key of the vendor (for ollama, its address), saved in .env; - reads it from standard input',
      helpValue: '<key>',
    }),
    python: Flags.string({
      description: 'Python version for tools in Python, saved in .python-version',
      helpValue: '3.12',
      helpGroup: 'setup',
    }),
    git: Flags.boolean({ description: 'Initialise a git repository', allowNo: true, helpGroup: 'setup' }),
    install: Flags.boolean({ description: 'Install dependencies', allowNo: true, helpGroup: 'setup' }),
    'package-manager': Flags.string({
      description: 'Package manager [default: the one that runs this command, otherwise npm]',
      options: [...PACKAGE_MANAGERS],
      helpGroup: 'setup',
    }),
    'agent-host': Flags.string({
      description: 'agent-host to depend on: a version range, tarball or folder [default: this one]',
      helpValue: '<version>',
      helpGroup: 'setup',
    }),
  }

  /** The `.env` of the parent folder does not belong to the new project. */
  override async init(): Promise<void> {}

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Init)
    checkChoices(args.project_name, flags)
    const { makeProject, refuseUsedFolder } = await import('../project/create/make-project.ts')
    const packageManager = readPackageManager(flags['package-manager'])
    const said: Answers = {
      name: args.project_name,
      template: flags.template as TemplateName | undefined,
      llm: flags.llm,
      apiKey: await readKey(flags['api-key']),
      git: flags.git,
      install: flags.install,
    }
    const { askChoices } = await import('./init/ask-choices.ts')
    const asks = !flags.yes && canAsk()
    const choices = asks ? await askChoices(said, { packageManager, refuse: refuseUsedFolder }) : withDefaults(said)
    const folder = resolve(choices.name)
    const { python, 'agent-host': dependency } = flags
    const kept = await makeProject(folder, { ...choices, name: folder, python, packageManager, dependency })
    const { keepSchema } = await import('../project/keep-schema.ts')
    await keepSchema(folder, (message) => this.warn(message))
    this.log(`Created project ${basename(folder)}.`)
    await this.#warnOfKept(folder, kept)
    if (python) await this.#warnOfMissingPython(python)
    if (choices.git) await this.#initialiseGit(folder)
    const isInstalled = choices.install && (await this.#install(folder, packageManager))
    this.logLines(nextSteps(choices, packageManager, isInstalled).map((line) => `  ${line}`))
  }

  async #warnOfKept(folder: string, kept: readonly string[]): Promise<void> {
    if (kept.length > 0) this.log(`Kept your ${kept.join(', ')}.`)
    if (!kept.includes('.gitignore')) return
    // A folder or a pipe of this name counts as one without text.
    const text = await readRegularFile(join(folder, '.gitignore')).catch(() => '')
    const lines = text
      .toString()
      .split('\n')
      .map((line) => line.trim())
    const missing = IGNORED.filter((path) => !lines.some((line) => line.replace(/^\/|\/$/g, '') === path))
    if (missing.length > 0)
      this.warn(`Add these lines to .gitignore; without them keys and records may be committed: ${missing.join(' ')}`)
  }

  async #warnOfMissingPython(version: string): Promise<void> {
    // Interpreters are named without the patch version.
    const [name = version] = /^\d+(\.\d+)?/.exec(version) ?? []
    const { failed } = await runProgram(`python${name}`, ['--version'], {})
    if (failed)
      this.warn(`There is no python${name} on this machine. Until you install it, tools in Python use python3.`)
  }

  async #initialiseGit(folder: string): Promise<void> {
    const { failed, code, stderr } = await runProgram('git', ['init', '--quiet'], { cwd: folder })
    if (code === 'ENOENT') this.warn(NO_GIT)
    else if (failed) this.warn(`git init failed${stderr ? `: ${stderr}` : '.'}`)
  }

  async #install(folder: string, packageManager: PackageManager): Promise<boolean> {
    this.log(`Installing dependencies with ${packageManager}.`)
    const { failed, exitCode } = await runProgram(packageManager, ['install'], { cwd: folder, stdio: 'inherit' })
    const reason = exitCode === undefined ? 'is not there or was stopped' : `failed with exit code ${exitCode}`
    if (failed) {
      const advice = callingPackageManager(process.env)
        ? 'Solve what it reports above first.'
        : 'What it reports is above. The project runs without it; only editors miss the types.'
      this.warn(`${packageManager} install ${reason}. ${advice}`)
    }
    return !failed
  }
}

const NO_GIT =
  'There is no git on this machine: no repository was initialised. Install git (https://git-scm.com), and run git init.'

/** Lines of `.gitignore` that keep secrets and records out of a repository. */
const IGNORED = ['.env', 'node_modules', 'debug', 'responses', 'memory', 'conversations']

function withDefaults({ name, template = 'minimal', llm = 'offline', apiKey = '', git, install }: Answers) {
  if (name === undefined) {
    throw badOption('The name of the project is missing.', {
      suggestions: ['agent-host init <name>', 'In the current folder: agent-host init .'],
    })
  }
  return { name, template, llm, apiKey, git: git ?? false, install: install ?? false }
}

function readPackageManager(flag: string | undefined): PackageManager {
  return PACKAGE_MANAGERS.find((known) => known === flag) ?? callingPackageManager(process.env) ?? 'npm'
}

async function readKey(flag: string | undefined): Promise<string | undefined> {
  const key = flag === '-' ? (await text(process.stdin)).trim() : flag
  if (key === undefined || /^[^\p{Cc}]+$/u.test(key)) return key
  throw badOption('--api-key must be one line of text.')
}

function checkChoices(name: string | undefined, flags: { python?: string; llm?: string; 'api-key'?: string }): void {
  if (name?.trim() === '') throw badOption('The name of the project must not be empty.')
  if (flags['api-key'] !== undefined && (flags.llm ?? 'offline') === 'offline') {
    throw badOption('--api-key needs --llm with the vendor that the key is for.')
  }
  if (flags.python === undefined || /^\d+(\.\d+){0,2}$/.test(flags.python)) return
  throw badOption(`--python must be a version such as 3.12, not '${flags.python}'.`)
}

function nextSteps(
  { name, llm, apiKey }: { name: string; llm: string; apiKey: string },
  packageManager: PackageManager,
  isInstalled: boolean,
): string[] {
  const provider = PROVIDERS.find((each) => each.name === llm)
  const usesPackages = isInstalled || callingPackageManager(process.env) !== undefined
  return [
    ...(provider && apiKey === ''
      ? [`Set ${provider.variable} in ${join(name, '.env')}; until then the offline model answers.`]
      : []),
    ...(resolve(name) === process.cwd() ? [] : [`cd ${/[^\w./~-]/.test(name) ? `"${name}"` : name}`]),
    ...(usesPackages && !isInstalled ? [`${packageManager} install`] : []),
    usesPackages ? `${packageManager} run dev` : 'agent-host dev',
  ]
}

/** Package manager that started this process (`npm create`, `pnpm dlx`, `npx`); undefined when none did. */
function callingPackageManager(environment: NodeJS.ProcessEnv): PackageManager | undefined {
  const [name] = (environment.npm_config_user_agent ?? '').split('/')
  return PACKAGE_MANAGERS.find((known) => known === name)
}
