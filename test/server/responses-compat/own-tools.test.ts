import { expect } from 'chai'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

/** `chooser` tells which tool it was made to call in each step, and calls `add` until its third answer. */
const FILES = {
  'agents/chooser.yml': `id: chooser
modules:
  - { id: llm, module: chooser }
  - { id: tools, module: tools/local, config: { files: [tools/add.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/chooser.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Chooser', provides: [LLM], create: () => { let step = 0
  return { async *generate({ toolChoice }) {
    step++
    yield { type: 'text', text: JSON.stringify(toolChoice ?? 'free') + ' ' }
    if (step < 3) yield { type: 'tool_call', call: { id: 'c' + step, name: 'add', arguments: { a: step, b: 2 } } }
    yield { type: 'finish', reason: step < 3 ? 'tool_calls' : 'stop' }
  } } } })`,
}

describe("requests about an agent's own tools", () => {
  afterEach(closeServers)

  const makeAsk = async () => {
    const { app } = await makeResponses({}, FILES)
    return (more: object, prefix = '/v1') => {
      const payload = { model: 'chooser', input: 'x', ...more }
      return app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
    }
  }
  const callsOf = ({ output }: Json) => output.filter(({ type }: Json) => type === 'mcp_call')
  const named = (name: string) => ({ type: 'function', name })

  for (const prefix of ['/v1', '/compat']) {
    it(`may limit their calls: further ones fail with a reason that the model reads, under ${prefix}`, async () => {
      const ask = await makeAsk()
      const include = ['agent.tool_calls']
      for (const [max_tool_calls, outputs] of [
        [0, [null, null]],
        [1, ['3', null]],
        [2, ['3', '4']],
      ] as const) {
        const record = (await ask({ max_tool_calls, include }, prefix)).json()
        expect(callsOf(record).map(({ output }: Json) => output)).to.deep.equal(outputs)
        const failed = callsOf(record).filter(({ status }: Json) => status === 'failed')
        for (const { error } of failed)
          expect(error).to.match(/^Not executed: the request allows (no tool calls\.|1 tool call, and it was made\.)/)
      }
    })
  }

  it('cannot limit them to less than none under /v1', async () => {
    const ask = await makeAsk()
    const reply = await ask({ max_tool_calls: -1 })
    expect([reply.statusCode, reply.json().error.param]).to.deep.equal([400, 'max_tool_calls'])
  })

  it('may demand one of them by name, for the first step', async () => {
    const ask = await makeAsk()
    const record = (await ask({ tool_choice: named('add') })).json()
    expect(textOf(record).replace(/\s+/g, ' ')).to.equal('{"tool":"add"} "free" "free" ')
    const tools = [named('weather')]
    expect(textOf((await ask({ tools, tool_choice: named('add') })).json())).to.contain('{"tool":"add"}')
    expect(textOf((await ask({ tool_choice: 'required' })).json()).replace(/\s+/g, ' ')).to.equal(
      '"required" "free" "free" ',
    )
  })

  it('that demand a tool that nobody has get 400, in a stream too', async () => {
    const ask = await makeAsk()
    for (const stream of [false, true]) {
      for (const model of ['chooser', 'talk']) {
        const reply = await ask({ model, stream, tool_choice: named('z') })
        expect([reply.statusCode, reply.json().error.param]).to.deep.equal([400, 'tool_choice'])
      }
    }
    expect((await ask({ tool_choice: named('z') }, '/compat')).statusCode).to.equal(200)
  })

  it('that require a call where there is no tool get 400', async () => {
    const ask = await makeAsk()
    for (const tools of [[], [{ type: 'web_search' }]]) {
      const body = { model: 'talk', tools, tool_choice: 'required' }
      const reply = await ask(body)
      expect([reply.statusCode, reply.json().error.param]).to.deep.equal([400, 'tool_choice'])
      expect((await ask(body, '/compat')).statusCode).to.equal(200)
    }
  })
})
