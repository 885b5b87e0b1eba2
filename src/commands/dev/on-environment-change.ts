import { watchFile } from 'node:fs'
import { readRegularFileSync } from '../../read-regular-file.ts'

const INTERVAL_MS = 500

/** Calls back when `.env` of the working directory has another text, or is gone. */
export function onEnvironmentChange(onChange: () => void): void {
  let text = readVariables()
  // Polled: editors that write a new file in place of the old one break a watch of the file.
  watchFile('.env', { interval: INTERVAL_MS, persistent: false }, () => {
    const now = readVariables()
    if (now === text) return
    text = now
    onChange()
  })
}

function readVariables(): string {
  try {
    return readRegularFileSync('.env').toString()
  } catch {
    return ''
  }
}
