import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { eventually } from './eventually.ts'
import { type CliOptions, RUN } from './run-cli.ts'

/** A command on a terminal, and somebody who types. */
export interface Terminal {
  /** Everything shown so far, without colours and movements of the cursor. */
  screen(): string
  /** Waits until the screen shows this, after what was shown when {@link Terminal.type} was last called. */
  shows(pattern: RegExp): Promise<RegExpExecArray>
  type(keys: string): void
  /** The exit code, once the command has ended. */
  readonly ended: Promise<number | null>
}

export const KEYS = { enter: '\r', down: '\u001b[B', up: '\u001b[A', ctrlC: '\u0003', ctrlD: '\u0004', space: ' ' }

export const PTY = fileURLToPath(new URL('./terminal.py', import.meta.url))
const running: ChildProcess[] = []

/** Skips the tests of a suite where there is no Python to open a terminal with. */
export function needsTerminal(context: Mocha.Context): void {
  if (spawnSync('python3', ['-c', 'import pty']).status === 0) return
  console.log('      skipped: python3 with its module pty opens the terminal, and is missing')
  context.skip()
}

export function openTerminal(args: readonly string[], { cwd, env }: CliOptions = {}): Terminal {
  const child = spawn('python3', [PTY, process.execPath, RUN, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  running.push(child)
  let output = ''
  let seen = 0
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const screen = () => stripVTControlCharacters(output).replaceAll('\r\n', '\n')
  return {
    screen,
    shows: (pattern) =>
      eventually(() => {
        const match = pattern.exec(screen().slice(seen))
        if (!match) throw new Error(`The terminal does not show ${pattern}:\n${screen()}`)
        return match
      }, 15_000),
    type(keys) {
      seen = screen().length
      child.stdin.write(keys)
    },
    ended: once(child, 'close').then(([code]) => code as number | null),
  }
}

/** To be called after each test that opens terminals. */
export function closeTerminals(): void {
  for (const child of running.splice(0)) child.kill('SIGKILL')
}
