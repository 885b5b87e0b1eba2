import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Lists of cores, as `taskset` takes them. */
export interface Cores {
  readonly server: string
  readonly load: string
  readonly all: string
}

/** Returns a core for a server and one for its load; undefined on a machine without two of them, or without `taskset`. */
export function splitCores(): Cores | undefined {
  if (process.platform !== 'linux' || spawnSync('taskset', ['--version']).status !== 0) return undefined
  const [, all = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  const [server, load] = all.split(',').flatMap(expand)
  return load === undefined ? undefined : { server: `${server}`, load: `${load}`, all }
}

/** Moves this process, with all its threads. */
export function moveTo(cores: string): void {
  execFileSync('taskset', ['-a', '-p', '-c', cores, `${process.pid}`], { stdio: 'ignore' })
}

/** The first two of a range are enough. */
function expand(range: string): number[] {
  const [first = 0, last = first] = range.split('-').map(Number)
  return last > first ? [first, first + 1] : [first]
}
