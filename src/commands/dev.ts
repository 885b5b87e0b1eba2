import { Flags } from '@oclif/core'
import { messageOf } from '../errors.ts'
import { runProgram } from '../project/run-program.ts'
import { BUILT_IN_ADAPTERS } from '../server/adapters/load-adapter.ts'
import type { ServerOptions } from '../server/options/options.ts'
import type { BuiltServer } from '../server/server.ts'
import { BaseCommand } from './base-command.ts'
import { debugUiAddress, describeServer, mcpSnippets } from './dev/banner.ts'
import { onEnvironmentChange } from './dev/on-environment-change.ts'
import type { TerminalQuestions } from './dev/terminal-questions.ts'
import { runServer, type ServerProcess } from './server/run-server.ts'
import { noteServer } from './server/running-server.ts'
import { fillSwitches, readServerFlags, serverFlags } from './server/server-flags.ts'

const DEFAULTS = { port: 9001, adapters: BUILT_IN_ADAPTERS, debug: true, record: 1, drainTimeout: 1, development: true }
/** Time after a save in which more may come. */
const SCHEMA_AFTER_MS = 300
const CLEAR = '\u001b[2J\u001b[3J\u001b[H'

const HELP = [
  'h  show this help',
  'o  open the debug UI in a browser',
  'm  show how MCP clients connect',
  'r  restart: reads .env again',
  'c  clear the screen',
  'q  quit',
]

export default class Dev extends BaseCommand {
  static override description =
    'Serves this project for development: every built-in adapter on one address, live edits, every call traced.'
  static override examples = ['agent-host dev', 'agent-host dev --port 9100 --open']
  static override usage = 'dev [FLAGS]'
  static override flags = {
    open: Flags.boolean({ description: 'Open the debug UI in a browser' }),
    ...serverFlags(DEFAULTS),
  }

  #server: (Pick<BuiltServer, 'options' | 'app'> & { readonly url: string }) | undefined
  #questions: TerminalQuestions | undefined
  #isRestarting = false

  override async run(): Promise<void> {
    this.argv = fillSwitches(this.argv)
    const options = await this.#readOptions()
    this.requireProject()
    onEnvironmentChange(() => {
      const advice = process.stdin.isTTY ? 'Press r to restart.' : 'Restart to apply it.'
      this.#server?.app.log.warn(`.env changed. ${advice}`)
    })
    this.#questions = await this.#openQuestions()
    const running = await runServer(options, (server, url) => this.#onReady(server, url), this.#questions)
    const { open } = (await this.parse(Dev)).flags
    if (open) this.#open()
    this.#followKeys(running)
  }

  async #readOptions(): Promise<ServerOptions> {
    return readServerFlags((await this.parse(Dev)).flags, DEFAULTS)
  }

  #onReady(server: BuiltServer, url: string): void {
    this.#server = { options: server.options, app: server.app, url }
    noteServer(url)
    this.logLines(describeServer(server, url))
    followSchema(server)
  }

  #followKeys(running: ServerProcess): void {
    const actions = {
      h: () => this.logLines(['', ...HELP, '']),
      o: () => this.#open(),
      m: () => this.#server && this.logLines(['', ...mcpSnippets(this.#server.url, this.#server.options), '']),
      r: () => void this.#restart(running),
      c: () => process.stdout.write(CLEAR),
      q: () => void process.emit('SIGINT'),
    }
    onKeys(actions, (typed) => this.#questions?.answer(typed) ?? false)
  }

  /** Without a terminal the page shows commands to copy. */
  async #openQuestions(): Promise<TerminalQuestions | undefined> {
    if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined
    const { TerminalQuestions: Questions } = await import('./dev/terminal-questions.ts')
    const { HeldOutput } = await import('./dev/held-output.ts')
    const output = new HeldOutput(() => questions.showAgain())
    const run = (command: readonly string[]) => runBeside(command, (line) => this.log(line))
    const questions = new Questions({ projectDir: process.cwd(), output, run })
    return questions
  }

  /** Options that do not fit leave the server as it is. */
  async #restart(running: ServerProcess): Promise<void> {
    if (this.#isRestarting) return
    this.#isRestarting = true
    try {
      this.reloadEnvironment()
      const options = await this.#readOptions()
      running.log.info('Restarting.')
      await running.restart(options)
    } catch (error) {
      running.log.error(`Cannot restart: ${messageOf(error)}`)
    } finally {
      this.#isRestarting = false
    }
  }

  #open(): void {
    if (this.#server) void openBrowser(debugUiAddress(this.#server.options, this.#server.url))
  }
}

/** Keeps the schema for editors in step with the available modules. */
function followSchema({ agents, options, app }: BuiltServer): void {
  const keep = async () => {
    const { keepSchema } = await import('../project/keep-schema.ts')
    await keepSchema(options.projectDir, (message) => app.log.warn(message))
  }
  const timer = setTimeout(keep, SCHEMA_AFTER_MS).unref()
  // Each save restarts the wait.
  agents.history.onLoad(() => void timer.refresh())
}

/**
 * Handles keys on a terminal; Ctrl-C still interrupts. A text that was pasted is none of them.
 *
 * @param answer takes what a question asked for; false where none is shown
 */
function onKeys(actions: Readonly<Record<string, () => void>>, answer: (typed: string) => boolean): void {
  const { stdin } = process
  if (!stdin.isTTY) return
  stdin.setRawMode(true)
  stdin.resume()
  stdin.setEncoding('utf8').on('data', (typed: string) => {
    const isAnswer = answer(typed)
    // In raw mode Ctrl-C is a key like any other.
    if (typed.includes('\u0003')) process.emit('SIGINT')
    else if (!isAnswer && Object.hasOwn(actions, typed)) actions[typed]?.()
  })
}

/** Runs a command of this command line without keys, and prints what it prints. It ends with this process. */
async function runBeside(args: readonly string[], print: (line: string) => void): Promise<number> {
  const { execa } = await import('execa')
  const { execPath, execArgv, argv } = process
  const command = [...execArgv, argv[1] as string, ...args]
  const running = execa(execPath, command, { reject: false, stdin: 'ignore', all: true, buffer: false })
  for await (const line of running.iterable({ from: 'all' })) print(line)
  return (await running).exitCode ?? 1
}

/** Opens an address with the system's opener. Without one nothing happens: the address is on the screen. */
async function openBrowser(url: string): Promise<void> {
  const [command, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  await runProgram(command, [...args, url], { stdio: 'ignore' })
}
