import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { fieldsOf } from '../../json.ts'
import { describeProcess, hasEnded, runsHere } from '../../process-identity.ts'
import { NO_LINKS, readRegularFileSync } from '../../read-regular-file.ts'
import { replaceFile } from '../../replace-file.ts'
import { isLoopback } from '../../server/guards/host-check.ts'
import { SERVER_OPTIONS } from '../../server/options/options.ts'

/** In the folder of the traces, which only its owner can read. */
const FILE = 'debug/server.json'
const DEFAULT_PORT = 9001
const MAX_BYTES = 4096
let isNoted = false

/** Notes that the development server of the project in this folder listens at this address, until this process ends. */
export function noteServer(url: string): void {
  const own = describeProcess()
  mkdirSync(dirname(FILE), { recursive: true, mode: 0o700 })
  replaceFile(FILE, JSON.stringify({ url, process: own }))
  if (isNoted) return
  isNoted = true
  process.once('exit', () => {
    if (readNote()?.process === own) rmSync(FILE, { force: true })
  })
}

/**
 * Address of the development server of the project in this folder; undefined when none runs. Commands send their key there: of a
 * process that is not of this machine, as in a container, it counts only where it leads to this machine.
 */
export function findServer(): string | undefined {
  const note = readNote()
  if (!note || hasEnded(note.process)) return undefined
  return runsHere(note.process) || isLoopback(new URL(note.url).hostname) ? note.url : undefined
}

/** Port of a server for commands that name none. */
export function defaultPort(): number {
  return Number(process.env[SERVER_OPTIONS.port.variable]) || DEFAULT_PORT
}

function readNote(): { url: string; process: string } | undefined {
  try {
    const { url, process: owner } = fieldsOf(JSON.parse(readRegularFileSync(FILE, MAX_BYTES, NO_LINKS).toString()))
    return typeof url === 'string' && URL.canParse(url) && typeof owner === 'string'
      ? { url, process: owner }
      : undefined
  } catch {
    return undefined
  }
}
