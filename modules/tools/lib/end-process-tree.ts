import { spawnSync } from 'node:child_process'

/**
 * Ends a process with everything that it has started.
 *
 * @param pid of a process that leads a group of its own; on Windows, which has none, of any process
 * @returns false when the system could not find it
 */
export function endProcessTree(pid: number, signal: NodeJS.Signals): boolean {
  // Programs without a window take no polite request there.
  if (process.platform === 'win32') return spawnSync('taskkill', ['/pid', String(pid), '/t', '/f']).status === 0
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
