/**
 * Files of an agent whose model is written here, in a loop that calls tools.
 *
 * @param generate body of the model's `generate`, with `messages`, `tools` and `run`
 */
export function modelAgent(id: string, generate: string): Record<string, string> {
  return {
    [`agents/${id}.yml`]: `id: ${id}
modules:
  - { id: llm, module: ${id} }
  - { id: loop, module: orchestrator/tool-loop }`,
    [`modules/${id}.ts`]: `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Model', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }, run) {
${generate.trimEnd()}
  } }) })`,
  }
}
