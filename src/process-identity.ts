import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { systemCodeOf } from './errors.ts'

/**
 * Returns a text that names this process among all that run at the same time, also in containers: machine, process id, and
 * its start time, if the system reports that.
 */
export function describeProcess(): string {
  return `${machine()} ${process.pid} ${startOf(process.pid) ?? ''}`
}

/** Returns true when the process is known to have ended; false when it runs, or on another machine. */
export function hasEnded(description: string): boolean {
  return isOfThisMachine(description) && !runsHere(description)
}

/** Returns true when the process runs on this machine. */
export function runsHere(description: string): boolean {
  if (!isOfThisMachine(description)) return false
  const [, pid = '', start = ''] = description.split(' ')
  return start === '' ? exists(Number(pid)) : startOf(Number(pid)) === start
}

function isOfThisMachine(description: string): boolean {
  return description.split(' ', 1)[0] === machine()
}

/** Process ids are those of one boot, and of one namespace: two containers may have the same host name. */
function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Returns the start time of a process that runs, in ticks since the boot; undefined when it does not run, or outside Linux. */
function startOf(pid: number): string | undefined {
  try {
    // proc(5): the name, in parentheses, may hold anything; the state follows it, and the start time is the 22nd field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCodeOf(error) !== 'ESRCH'
  }
}
