import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { eventually } from './eventually.ts'

/** Where and with what a command runs. */
export interface CliOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Program that runs it, with its first arguments; default: this Node. */
  readonly runtime?: readonly [program: string, ...args: string[]]
}

export interface CliResult {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** Runs the built command line to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runNode([RUN, ...args], options)
}

/** Runtime whose files end at this size, in bytes, as on a disk that is full then. */
export function withFileLimit(bytes: number): NonNullable<CliOptions['runtime']> {
  return ['sh', '-c', `ulimit -f ${Math.floor(bytes / 512)}; exec "$0" "$@"`, process.execPath]
}

export async function runNode(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = spawnNode(args, options)
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { exitCode, stdout, stderr }
}

/** A command that keeps running. */
export interface RunningCli {
  readonly pid: number | undefined
  /** Everything printed so far. */
  output(): string
  /** Waits until the output matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Sends a signal; answers the exit code once the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  signal(signal: NodeJS.Signals): void
  /** Answers the exit code once the process has ended by itself. */
  ended(): Promise<number | null>
}

/** Time that a command gets to print something; a machine that is shared starts slowly. */
const START_TIMEOUT_MS = 40_000

const running: ChildProcessByStdio<null, Readable, Readable>[] = []

export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const child = spawnNode([RUN, ...args], options)
  running.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null)
  return {
    pid: child.pid,
    output: () => output,
    printed: (pattern) =>
      eventually(() => {
        const match = pattern.exec(output)
        if (!match) throw new Error(`${pattern} is not in the output:\n${output}`)
        return match
      }, START_TIMEOUT_MS),
    signal: (signal) => child.kill(signal),
    ended: () => ended,
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}

/** To be called after each test that starts commands. */
export function killRunning(): void {
  for (const child of running.splice(0)) child.kill('SIGKILL')
}

function spawnNode(args: readonly string[], { cwd, env, runtime = [process.execPath] }: CliOptions) {
  const [program, ...first] = runtime
  return spawn(program, [...first, ...args], {
    cwd,
    env: environmentOf(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The environment that a command gets: nothing else of this process's reaches it. */
export function environmentOf(env: CliOptions['env']): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
}
