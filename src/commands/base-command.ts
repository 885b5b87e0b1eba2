import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { inspect, parseEnv } from 'node:util'
import { Command, Errors } from '@oclif/core'
import { decodeText } from '../decode-text.ts'
import { didYouMean } from '../definition/nearest-name.ts'
import { badProject, HostError, messageOf, systemCodeOf } from '../errors.ts'
import { fieldsOf } from '../json.ts'
import { findProject } from '../project/find-project.ts'
import { readProxySettings } from '../proxy/proxy-settings.ts'
import { readRegularFileSync } from '../read-regular-file.ts'
import { SERVER_OPTIONS } from '../server/options/options.ts'
import { cleanText } from '../wire/clean-text.ts'
import { describeUsageError } from './help/describe-usage-error.ts'
import { describePortError } from './server/describe-port-error.ts'
import { isCancelled } from './terminal/prompts.ts'

const { flag, variable } = SERVER_OPTIONS.agentDir
/** Of `.env`. */
const MAX_BYTES = 1024 * 1024

/** Base of every command: enters the project, reads its `.env`, and prints errors as text with a next step instead of a stack. */
export abstract class BaseCommand extends Command {
  /** Folder that the command was called in: paths on the command line belong to it. */
  protected readonly calledIn = process.cwd()
  readonly #environment = { ...process.env }
  /** True once `init` has found the project. */
  protected isInProject = false

  /** Loads `.env` before flags are read, since flags may come from the environment, which takes precedence. */
  override async init(): Promise<void> {
    const projectDir = this.#namesAgentDir() ? this.calledIn : findProject(this.calledIn)
    if (projectDir !== undefined) process.chdir(projectDir)
    this.#loadEnvironment()
    await this.#useProxy()
    this.isInProject = projectDir !== undefined || this.#namesAgentDir()
  }

  override async catch(error: Error): Promise<void> {
    if (error instanceof Errors.ExitError) throw error
    if (isCancelled(error)) this.#cancel()
    if (process.env.DEBUG) this.logToStderr(inspect(error))
    if (error instanceof HostError) {
      this.#fail(error.message, error.suggestions, error.code === 'OPTION_INVALID' ? 2 : 1)
    }
    if (error instanceof Errors.CLIError) {
      const known = Object.keys(this.ctor.flags ?? {}).map((name) => `--${name}`)
      const { flags } = fieldsOf(error)
      const unknown = Array.isArray(flags) ? flags.map(String) : []
      const suggestions = unknown.flatMap((name) => didYouMean(name, known))
      const help = `See more help with agent-host ${this.id?.replaceAll(':', ' ')} --help`
      this.#fail(describeUsageError(error.message), [...suggestions, help], 2)
    }
    const { message, suggestions } = describePortError(error, `${this.id}`)
    this.#fail(message, suggestions, 1)
  }

  /** A command that exits at once would hide that its output could not be written, as on a full disk: Node tells a moment later. */
  protected override async finally(): Promise<void> {
    await setImmediate()
  }

  /** @throws HostError `PROJECT_INVALID` outside a project */
  protected requireProject(): void {
    if (this.isInProject) return
    const message = `No project found: neither ${this.calledIn} nor a folder above it holds agents/.`
    throw badProject(message, { suggestions: ['Create a project: agent-host init <name>'] })
  }

  /** Reads `.env` again, and removes variables that it no longer defines. */
  protected reloadEnvironment(): void {
    for (const name of Object.keys(process.env)) if (!(name in this.#environment)) delete process.env[name]
    this.#loadEnvironment()
  }

  /** Escapes characters of agents, models and files which could move the cursor of a terminal. */
  override log(message = '', ...args: unknown[]): void {
    super.log(process.stdout.isTTY ? cleanText(message) : message, ...args)
  }

  override logToStderr(message = '', ...args: unknown[]): void {
    super.logToStderr(process.stderr.isTTY ? cleanText(message) : message, ...args)
  }

  /** In one line, as errors are: oclif would put it in a box and wrap it. */
  override warn(input: Error | string): Error | string {
    this.logToStderr(`Warning: ${typeof input === 'string' ? input : input.message}`)
    return input
  }

  protected logLines(lines: Iterable<string>): void {
    for (const line of lines) this.log(line)
  }

  protected printJson(value: unknown): void {
    this.log(JSON.stringify(value, null, 2))
  }

  /** Absolute path of a file that is named on the command line. */
  protected pathOf(file: string): string {
    return resolve(this.calledIn, file)
  }

  #loadEnvironment(): void {
    const file = readEnvironment((message) => this.warn(message))
    for (const [name, value] of Object.entries(file)) process.env[name] ??= value
  }

  /** Whatever a command asks goes through the proxies of the environment. */
  async #useProxy(): Promise<void> {
    const settings = readProxySettings(process.env)
    if (!settings) return
    const { useProxy } = await import('../proxy/use-proxy.ts')
    await useProxy(settings)
  }

  #namesAgentDir(): boolean {
    const isNamed = this.argv.some((word) => word === `--${flag}` || word.startsWith(`--${flag}=`))
    return isNamed || Boolean(process.env[variable])
  }

  #cancel(): never {
    this.logToStderr('Cancelled, nothing created.')
    this.exit(130)
  }

  #fail(message: string, suggestions: readonly string[], exitCode: number): never {
    this.logToStderr(`Error: ${message}`)
    for (const suggestion of suggestions) this.logToStderr(`  ${suggestion}`)
    this.exit(exitCode)
  }
}

function readEnvironment(warn: (message: string) => void): NodeJS.Dict<string> {
  try {
    return parseEnv(decodeText(readRegularFileSync('.env', MAX_BYTES), '.env', warn))
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT') return {}
    throw badProject(`Cannot read .env: ${messageOf(cause)}`, { cause })
  }
}
