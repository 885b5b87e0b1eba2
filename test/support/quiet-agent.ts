import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** An agent that waits in silence for as many milliseconds as it is told, and then answers. It notes each time that it begins. */
export const QUIET_PROJECT = {
  'agents/quiet.yml': 'id: quiet\nmodules: [{ id: main, module: quiet }]',
  'modules/quiet.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { appendFileSync } from 'node:fs'
export default defineModule({ name: 'Quiet', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }, _config, { projectDir }) => ({ async handleText(text) {
    appendFileSync(projectDir + '/begun.txt', text + '\\n')
    await new Promise((resolve) => setTimeout(resolve, Number(text.split(' ')[0])))
    await response.respondText('done ' + text)
  } }) })`,
}

/** Returns what the agent was asked each time that it began, oldest first. */
export function listBegun(dir: string): string[] {
  const file = join(dir, 'begun.txt')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
}
