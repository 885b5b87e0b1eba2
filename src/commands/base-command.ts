import { existsSync } from 'node:fs'
import { inspect } from 'node:util'
import { Command, Errors } from '@oclif/core'
import { didYouMean } from '../definition/nearest-name.ts'
import { HostError, messageOf } from '../errors.ts'

/** What every command does alike: reads `.env`, and tells errors as text with a next step instead of a stack. */
export abstract class BaseCommand extends Command {
  /** `.env` fills in what the environment does not have, before flags are read: they may come from either. */
  override async init(): Promise<void> {
    if (!existsSync('.env')) return
    try {
      process.loadEnvFile('.env')
    } catch (cause) {
      throw new HostError('PROJECT_INVALID', `.env cannot be read: ${messageOf(cause)}`, { cause })
    }
  }

  override async catch(error: Error): Promise<void> {
    if (error instanceof Errors.ExitError) throw error
    if (process.env.DEBUG) this.logToStderr(inspect(error))
    if (error instanceof HostError) {
      this.#fail(error.message, error.suggestions, error.code === 'OPTION_INVALID' ? 2 : 1)
    }
    if (error instanceof Errors.CLIError) {
      const known = Object.keys(this.ctor.flags ?? {}).map((name) => `--${name}`)
      const { flags } = error as { flags?: unknown }
      const unknown = Array.isArray(flags) ? flags.map(String) : []
      const suggestions = unknown.flatMap((flag) => didYouMean(flag, known))
      this.#fail(
        error.message.replace(/\nSee more help with --help$/, ''),
        [...suggestions, 'See more help with --help'],
        2,
      )
    }
    this.#fail(describe(error), [], 1)
  }

  #fail(message: string, suggestions: readonly string[], exitCode: number): never {
    this.logToStderr(`Error: ${message}`)
    for (const suggestion of suggestions) this.logToStderr(`  ${suggestion}`)
    this.exit(exitCode)
  }
}

function describe(error: Error & { code?: string; port?: number }): string {
  if (error.code === 'EADDRINUSE') return `The port ${error.port} is taken by another program. --port chooses another.`
  if (error.code === 'EACCES' && error.port) return `The port ${error.port} may not be used. --port chooses another.`
  return error.message
}
