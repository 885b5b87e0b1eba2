import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './temp-project.ts'

export const echoAgent = (id: string, prefix = '') =>
  `id: ${id}\nmodules:\n  - { id: main, module: echo, config: { prefix: '${prefix}' } }\n`

/** A project with `count` echo agents, a0 to a<count - 1>; gone when the process exits. */
export function makeAgents(count: number): string {
  const dir = makeFolder()
  mkdirSync(join(dir, 'agents'))
  for (let index = 0; index < count; index++) {
    writeFileSync(join(dir, 'agents', `a${index}.yml`), echoAgent(`a${index}`))
  }
  return dir
}
