import { expect } from 'chai'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const WEATHER = { type: 'function', name: 'weather', description: 'Of a city', parameters: { type: 'object' } }
const FILES = {
  ...CLIENT_TOOLS_PROJECT,
  'agents/tools.yml': `${CLIENT_TOOLS_PROJECT['agents/tools.yml']}\n  - { id: frail, module: frail }`,
  'modules/frail.ts': `import { defineModule, ToolProvider } from 'agent-host'
const state = (globalThis.frail ??= { isBroken: false })
export default defineModule({ name: 'Frail', provides: [ToolProvider], create: () => {
  if (state.isBroken) throw new Error('no')
  return { listTools: () => [], executeTool: async () => ({ text: '' }) } } })`,
}
const frail = () => (globalThis as unknown as { frail: { isBroken: boolean } }).frail

describe('a response that is not stored, and answers a call beside a decision', () => {
  afterEach(closeServers)

  /** A response that waits for its client, with a decision that only one run may carry out. */
  async function wait() {
    const { create, inject } = await makeResponses({}, FILES)
    const more = { model: 'tools', tools: [WEATHER] }
    const first = await create('weather Lima pay Lima', more)
    const { id: approval_request_id } = first.output.find(({ type }: Json) => type === 'mcp_approval_request')
    const approve = { type: 'mcp_approval_response', approval_request_id, approve: true }
    const { id, output } = await create([approve], { ...more, previous_response_id: first.id })
    const { call_id } = output.find(({ type }: Json) => type === 'function_call')
    const input = [{ type: 'function_call_output', call_id, output: 'sunny' }]
    return async () => {
      const reply = await inject('POST', '', { ...more, input, previous_response_id: id, store: false })
      return reply.statusCode === 200 && reply.json().status === 'completed' ? textOf(reply.json()) : reply.statusCode
    }
  }

  it('goes on once, of two at the same time', async () => {
    const send = await wait()
    const said = await Promise.all([send(), send()])
    expect(said.sort()).to.deep.equal([409, 'weather: sunny; pay: pay was executed'])
  })

  it('goes on when it comes again, after it has failed before a call', async () => {
    const send = await wait()
    frail().isBroken = true
    const failed = await send()
    frail().isBroken = false
    expect([failed, await send()]).to.deep.equal([500, 'weather: sunny; pay: pay was executed'])
    expect(await send()).to.equal(409)
  })
})
