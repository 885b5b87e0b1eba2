import type { DebugUi } from './debug-ui.ts'
import { chat } from './server.ts'

/** An agent with a memory and kept conversations; its first answer costs two dollars. */
const KEEPER = `id: keeper
modules:
  - id: llm
    module: llm/mock
    scope: agent
    config:
      replies:
        - { tool_calls: [{ name: memory_store, arguments: { text: The lamp is red } }], usage: { model: gpt-4.1, input_tokens: 1000000 } }
        - I will remember that.
  - { id: memory, module: memory/vector-memory }
  - { id: vectors, module: memory/exact-index, scope: agent }
  - { id: embedder, module: embedder/local }
  - { id: notes, module: tools/memory }
  - { id: history, module: conversation/persistent }
  - { id: loop, module: orchestrator/tool-loop }`

/** Puts the keeper into service, and tells it where the lamp is. */
export async function askKeeper(ui: DebugUi): Promise<void> {
  await ui.add({ 'agents/keeper.yml': KEEPER })
  const payload = chat('keeper', 'The lamp is red', { user: 'ann' })
  await ui.server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
}
