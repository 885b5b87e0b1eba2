import type { ServerOptions } from 'agent-host'
import { type ServedAdapter, serveAdapter } from 'agent-host/testing'

export const ADAPTER = { name: 'MessagesAdapter', file: new URL('../../src/index.ts', import.meta.url) }

/** An agent of a scripted model. */
export function scripted(id: string, replies: readonly unknown[], more = ''): string {
  return `id: ${id}
description: Agent ${id}
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: ${JSON.stringify(replies)} } }
  - { id: loop, module: orchestrator/tool-loop }
${more}`
}

/** An agent whose model answers with what it was given, as JSON. */
const MIRROR = `import { defineModule, LLM } from 'agent-host'
export default defineModule({
  name: 'Mirror',
  provides: [LLM],
  attachments: ['*/*'],
  reasons: true,
  create: () => ({
    async countTokens({ messages, tools = [] }) {
      if (messages.at(-1).content === 'away') throw new Error('The vendor is away.')
      return 1000 * messages.length + tools.length
    },
    async *generate({ messages, tools = [], ...options }, { user = null }) {
      if (messages.at(-1)?.content === 'think') {
        yield { type: 'reasoning', text: 'Hm.', providerMetadata: { mirror: { signature: 'of the mirror' } } }
      }
      const shown = (value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value)
      const text = JSON.stringify({ messages, tools: tools.map(({ name }) => name), options, user }, (_, value) => {
        const data = value?.data
        return data instanceof Uint8Array ? { ...value, data: shown(data) } : value
      })
      yield { type: 'text', text }
      yield { type: 'finish', reason: 'stop', stopSequence: user ?? undefined }
    },
  }),
})
`

const TOOLS = `import { defineTool, Type } from 'agent-host'
export const refund = defineTool({ description: 'Refunds', parameters: Type.Object({}), needsApproval: true, execute: () => 'refunded' })
`

const REFUND = '  - { id: tools, module: tools/local, config: { files: [tools/refund.ts] } }\n'

const CALL = { name: 'read_file', arguments: { path: 'a.txt' } }

const FILES = {
  'modules/mirror.ts': MIRROR,
  'tools/refund.ts': TOOLS,
  'agents/mirror.yml':
    'id: mirror\nmodules: [{ id: llm, module: mirror }, { id: loop, module: orchestrator/tool-loop }]\n',
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]\n',
  'agents/plain.yml': scripted('plain', [
    { text: 'one two', usage: { input_tokens: 10, output_tokens: 2, cached_input_tokens: 4 } },
  ]),
  'agents/reader.yml': scripted('reader', [
    { text: 'I read it.', tool_calls: [{ id: 'toolu_1', ...CALL }] },
    'It says A.',
  ]),
  'agents/thinker.yml': scripted('thinker', [
    {
      reasoning: [{ text: 'Hm.', provider_metadata: { anthropic: { signature: 'sig-of-vendor' } } }],
      tool_calls: [{ id: 'toolu_1', ...CALL, provider_metadata: { google: { thoughtSignature: 'of the call' } } }],
    },
  ]),
  'agents/long.yml': scripted('long', [{ text: 'cut', finish: 'length' }]),
  'agents/prim.yml': scripted('prim', [{ text: 'No.', finish: 'content_filter' }]),
  'agents/late.yml': scripted('late', [{ text: 'part', error: 'hidden reason' }]),
  'agents/cashier.yml': scripted('cashier', [{ tool_calls: [{ name: 'refund' }] }, 'Done.'], REFUND),
  'agents/clerk.yml': scripted(
    'clerk',
    [{ tool_calls: [{ name: 'refund' }] }, { tool_calls: [CALL] }, 'Done.'],
    REFUND,
  ),
}

/** A server of the adapter over agents for tests; a test file closes it. */
export function serve(options: Partial<ServerOptions> = {}): Promise<ServedAdapter> {
  return serveAdapter(ADAPTER, { files: FILES, options })
}

export const READ_FILE = {
  name: 'read_file',
  description: 'Reads a file',
  input_schema: { type: 'object' as const, properties: { path: { type: 'string' } } },
}
