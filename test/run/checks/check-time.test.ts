import { expect } from 'chai'
import { runAgent } from '../../support/run-agent.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

/** Each `ab` may be read in two ways, so that a text of many is not checked in time; a text of one character is. */
const SLOW = '(?:ab|a|b)+'
const TEXT = `${'ab'.repeat(40)}!`

/** Takes CPU time as it is told, as checks. */
const BURNER = `import { defineModule, isTimeLimit, Response, TextMessageHandler } from 'agent-host'
const burn = (ms) => () => {
  const before = process.cpuUsage()
  for (;;) { const { user, system } = process.cpuUsage(before); if ((user + system) / 1000 > ms) return ms }
}
export default defineModule({ name: 'Burner', provides: [TextMessageHandler], uses: { response: Response }, create: ({ response }) => ({
  async handleText(text, run) {
    for (const ms of text.split(' ')) {
      const view = run.with({ user: 'ann' })
      try { await response.respondText(view.checkInTime(burn(Number(ms))) + ' ') }
      catch (error) { if (!isTimeLimit(error)) throw error; await response.respondText('late ') }
    }
  } }) })`

describe('the time of checks', () => {
  afterEach(closeServers)

  it('is one for all checks of a run; quick ones do not count', async () => {
    const definition = { id: 'burner', modules: [{ id: 'main', module: 'burner' }] }
    const files = { 'modules/burner.ts': BURNER }
    const { text } = await runAgent(definition, `1 ${'25 '.repeat(14)}${'1 '.repeat(8)}`, { files })
    const [first, ...others] = text.trim().split(' ')
    expect([first, ...others.slice(0, 2)]).to.deep.equal(['1', '25', '25'])
    // A machine may stall for longer than a quick one has, but not each time.
    expect(others.slice(-8)).to.include('1')
    // 200 / 25
    expect(others.filter((result) => result === '25').length).to.be.within(2, 8)
    expect((await runAgent(definition, '25', { files })).text).to.equal('25 ')
  })

  it('is one for all texts that a model gives to tools of a client', async () => {
    const calls = Array.from(
      { length: 8 },
      (_, index) => `{ id: c${index}, name: word, arguments: { input: ${TEXT} } }`,
    )
    const agent = `id: writer
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: '', tool_calls: [${calls.join(', ')}] }, { text: Done. }] } }
  - { id: loop, module: orchestrator/tool-loop }`
    const { app } = await makeServer({}, { 'agents/writer.yml': agent })
    const format = { type: 'grammar', grammar: { syntax: 'regex', definition: SLOW } }
    const tools = [{ type: 'custom', custom: { name: 'word', format } }]
    const before = process.cpuUsage()
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      payload: chat('writer', 'x', { tools }),
    })
    const { user, system } = process.cpuUsage(before)
    expect(reply.json().choices[0].message.content).to.equal('Done.')
    expect((user + system) / 1000).to.be.below(900)
  })
})
