import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { echoRun } from '../test/support/events.ts'

const START = 1_700_000_000
const SAMPLE = echoRun('run-id', 'a question', START)
  .map((event) => `${JSON.stringify(event)}\n`)
  .join('')

/** Appends runs to the trace of a project, from one number to another, one a second. No server may run. */
export async function generateTrace(project: string, from: number, to: number): Promise<void> {
  mkdirSync(join(project, 'debug'), { recursive: true, mode: 0o700 })
  const file = createWriteStream(join(project, 'debug', 'echo.jsonl'), { flags: 'a' })
  for (let run = from; run < to; run++) {
    const lines = SAMPLE.replaceAll('run-id', `run-${run}`).replaceAll(String(START), String(START + run))
    if (!file.write(lines)) await once(file, 'drain')
  }
  await new Promise<void>((done) => file.end(done))
}
