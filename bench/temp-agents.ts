import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const echoAgent = (id: string, prefix = '') =>
  `id: ${id}\nmodules:\n  - { id: main, module: echo, config: { prefix: '${prefix}' } }\n`

/** A project with `count` echo agents, a0 to a<count - 1>; gone when the process exits. */
export function makeAgents(count: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-host-bench-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'agents'))
  for (let index = 0; index < count; index++) {
    writeFileSync(join(dir, 'agents', `a${index}.yml`), echoAgent(`a${index}`))
  }
  return dir
}
