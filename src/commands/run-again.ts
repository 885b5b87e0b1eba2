import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs a command of this command line in a process of its own, on the same terminal.
 *
 * @param nodeOptions for Node itself
 * @returns its exit code
 */
export async function runAgain(args: readonly string[], nodeOptions: readonly string[] = []): Promise<number> {
  const script = process.argv[1] as string
  const child = spawn(process.execPath, [...process.execArgv, ...nodeOptions, script, ...args], { stdio: 'inherit' })
  const [code] = await once(child, 'close')
  return code ?? 1
}
