import { readFileSync } from 'node:fs'
import type { Json } from './responses.ts'
import { SHOP_FILES, shopAgent } from './shop.ts'
import { keysFile } from './tenant-visitor.ts'

/** Content: in no line. */
export const CANARY = 'canary-4711'
/** Secret of the trigger of the agent `clerk`. */
export const TRIGGER = 'a-secret-of-enough-length'
const KEYS = keysFile([
  { name: 'ada', tenant: 'acme', scopes: ['run', 'approve'] },
  { name: 'eve', tenant: 'acme', scopes: ['run'], limits: { requests_per_minute: 1 } },
])
/** Agents that wash, pay and ask, with the keys of those who may have them do it. */
export const AUDITED_FILES = {
  ...SHOP_FILES,
  'agents/shop.yml': shopAgent('shop', `{ name: pay, arguments: { amount: 40, to: ${CANARY} } }`),
  'agents/clerk.yml': `id: clerk
triggers: [{ id: hook, secret: ${TRIGGER}, signature: bearer, tenant: acme, key: ada }]
modules: [{ id: tools, module: pay }, { id: main, module: ask-size }]`,
  'modules/ask-size.ts': `import { defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'AskSize', provides: [TextMessageHandler], uses: { tools: ToolProvider, response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    const failure = await tools.executeTool('size', { amount: 1, to: text }, run.with({ toolCallId: 'call_1' })).then(() => 'asked', ({ code }) => code)
    await response.respondText(String(failure))
  } }) })`,
  'modules/wash.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Wash', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'wash', description: 'Washes.', parameters: { type: 'object' } }],
  executeTool: async () => { (globalThis.washed ??= []).push(1); return { text: 'washed' } } }) })`,
  'modules/cleaner.ts': `import { defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Cleaner', provides: [TextMessageHandler], uses: { tools: ToolProvider, response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    const said = await tools.executeTool('wash', { text }, run.with({ toolCallId: 'call_1' })).then(({ text }) => text, ({ code }) => {
      (globalThis.refused ??= []).push(run.agentId)
      return code
    })
    await response.respondText(said)
  } }) })`,
  'agents/cleaner.yml': 'id: cleaner\nmodules: [{ id: tools, module: wash }, { id: main, module: cleaner }]',
  'keys.yml': KEYS,
}

/** Calls of the tool `wash` in this process. */
export const washed = (): number[] => ((globalThis as { washed?: number[] }).washed ??= [])

/** Agents whose calls of `wash` were refused in this process. */
export const refused = (): string[] => ((globalThis as { refused?: string[] }).refused ??= [])

export function auditLines(path: string): Json[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

export function eventsOf(lines: readonly Json[], ...events: string[]): Json[] {
  return lines.filter(({ event }) => events.includes(event))
}
