import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { type Json, RESPONSES } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'

const agent = (id: string) => `id: ${id}
modules:
  - { id: llm, module: model, config: { says: ${id} } }
  - { id: tools, module: take }
  - { id: loop, module: orchestrator/${id === 'text' ? 'react' : 'tool-loop'} }`

/** Of a model that sends what JSON.parse takes, and JSON.stringify does not; then it repeats what it reads. */
const FILES = {
  ...Object.fromEntries(['arguments', 'metadata', 'text'].map((id) => [`agents/${id}.yml`, agent(id)])),
  'modules/model.ts': `import { defineModule, LLM, Type } from 'agent-host'
const deep = '['.repeat(20_000) + ']'.repeat(20_000)
export default defineModule({ name: 'Model', provides: [LLM], config: Type.Object({ says: Type.String() }), create: (_, { says }) => ({
  async *generate({ messages }) {
    const { role, content } = messages.at(-1)
    if (role === 'tool' || content.startsWith('Observation')) yield { type: 'text', text: 'Final Answer: ' + content }
    else if (says === 'text') yield { type: 'text', text: 'Action: take\\nAction Input: {"a": ' + deep + '}' }
    else if (says === 'metadata') yield { type: 'text', text: 'Hello', providerMetadata: { vendor: { deep: JSON.parse(deep) } } }
    else yield { type: 'tool_call', call: { id: 'c1', name: 'take', arguments: { a: JSON.parse(deep) } } }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
  'modules/take.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Take', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'take', description: 'Takes it', parameters: { type: 'object' } }],
  executeTool: async () => ({ text: 'taken' }) }) })`,
}

describe('a model whose JSON is too deep for a store', () => {
  afterEach(closeServers)

  for (const [model, status, text] of [
    ['arguments', 'completed', /no JSON object, .*\(more than 100 levels of lists and objects\)$/],
    ['text', 'completed', /The arguments of 'take' have more than 100 levels\.$/],
    ['metadata', 'failed', /^$/],
  ] as const) {
    it(`as ${model}: the response ends, ${status}`, async () => {
      const { app } = await makeServer({ adapters: ['ResponsesCompatApiAdapter'] }, FILES)
      const post = (more: object) =>
        app.inject({ method: 'POST', url: RESPONSES, payload: { model, input: 'Go', ...more } })
      const reply = await post({})
      expect(reply.statusCode).to.equal(status === 'failed' ? 500 : 200)
      expect(reply.json().detail).to.equal(status === 'failed' ? 'Agent execution failed' : undefined)
      const { id } = (await post({ background: true })).json()
      await eventually(async () => {
        const { status: now, output } = (await app.inject(`${RESPONSES}/${id}`)).json()
        expect(now).to.equal(status)
        const said = output.flatMap(({ content = [] }: Json) => content.map((part: Json) => part.text))
        expect(said.join('')).to.match(text)
      })
    })
  }
})
