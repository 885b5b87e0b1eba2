import { spawn } from 'node:child_process'
import { once } from 'node:events'

interface RunAgainOptions {
  /** Options for Node itself. */
  readonly nodeOptions?: readonly string[]
  /** A script, with its own arguments, that starts the command: it comes before Node in the command line. */
  readonly under?: readonly string[]
}

/**
 * Runs a command of this command line in a process of its own, on the same terminal. SIGTERM ends both.
 *
 * @returns its exit code
 */
export async function runAgain(
  args: readonly string[],
  { nodeOptions = [], under = [] }: RunAgainOptions = {},
): Promise<number> {
  const { execPath, execArgv, argv } = process
  const command = [...execArgv, ...nodeOptions, argv[1] as string, ...args]
  const child = spawn(execPath, under.length > 0 ? [...under, execPath, ...command] : command, { stdio: 'inherit' })
  // Ctrl-C reaches both processes, other signals this one alone.
  const stop = () => child.kill()
  process.once('SIGTERM', stop)
  const [code] = await once(child, 'close')
  process.off('SIGTERM', stop)
  if (child.killed) process.exit(code ?? 1)
  return code ?? 1
}
