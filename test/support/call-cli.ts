import { Errors, run } from '@oclif/core'
import { loadSourceConfig } from '../../scripts/source-config.js'
import { type CliOptions, type CliResult, environmentOf } from './run-cli.ts'

let config: ReturnType<typeof loadSourceConfig> | undefined
let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs a command from source to its end, in this process: for what it prints and writes. A process of its own
 * (`runCli`) costs a second of CPU time, and is for what only a process has: signals, standard input, an exit in
 * between, and the built files.
 */
export function callCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  // The folder, the environment and the output belong to the process: one command at a time has them.
  const call = previous.then(() => callAlone(args, options))
  previous = call.catch(() => {})
  return call
}

async function callAlone(args: readonly string[], { cwd = process.cwd(), env }: CliOptions): Promise<CliResult> {
  config ??= loadSourceConfig()
  const loaded = await config
  const before = listenerCounts()
  const leave = enter(cwd, environmentOf(env))
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  try {
    const exitCode = await exitCodeOf(run([...args], loaded))
    expectListeners(before, args)
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.release()
    stderr.release()
    leave()
  }
}

/** @throws what bin/run.js would print with its stack: no command should end so */
async function exitCodeOf(running: Promise<unknown>): Promise<number> {
  try {
    await running
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof Errors.ExitError) return error.oclif.exit ?? 0
    throw error
  }
}

/** Makes a folder and an environment those of this process; the returned function restores them. */
function enter(cwd: string, env: NodeJS.ProcessEnv): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env }, exitCode: process.exitCode, isTTY: process.stdin.isTTY }
  process.chdir(cwd)
  setEnvironment(env)
  process.stdin.isTTY = false
  return () => {
    process.chdir(before.cwd)
    setEnvironment(before.env)
    process.exitCode = before.exitCode
    process.stdin.isTTY = before.isTTY
  }
}

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
}

/** Takes everything that is written to a stream, until it is released. Until then it is no terminal, and has no width. */
function capture(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write, isTTY, columns } = stream
  let text = ''
  Object.assign(stream, { isTTY: false, columns: undefined })
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const written = rest.at(-1)
    if (typeof written === 'function') written()
    return true
  }
  return { text: () => text, release: () => Object.assign(stream, { write, isTTY, columns }) }
}

const PROCESS_EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection'] as const

function listenerCounts(): readonly number[] {
  return PROCESS_EVENTS.map((event) => process.listenerCount(event))
}

/** A command that listens to signals or to errors of its process would go on doing so here. */
function expectListeners(before: readonly number[], args: readonly string[]): void {
  const left = PROCESS_EVENTS.filter((event, index) => process.listenerCount(event) !== before[index])
  if (left.length > 0) throw new Error(`'${args.join(' ')}' still listens to ${left.join(', ')}: use runCli.`)
}
