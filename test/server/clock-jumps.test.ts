import { expect } from 'chai'
import { HEADERS, type ResponsesProcess, startResponses } from '../support/responses-process.ts'
import { killRunning } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const HOUR_MS = 60 * 60 * 1000
const PRELOAD = new URL('../support/jumping-clock.js', import.meta.url).href

describe('a wall clock that jumps', () => {
  afterEach(killRunning)

  it('ends no run early and none late, and stops no keep-alive', async () => {
    const { dir } = await makeProject(WAITING)
    const server = await startResponses(dir, ['--run-timeout', '3', '--streaming-timeout', '1'], {
      NODE_OPTIONS: `--import ${PRELOAD}`,
      CLOCK_OFFSETS: `${HOUR_MS},${-HOUR_MS}`,
    })
    const jump = async (offsetMs: number) => {
      server.signal('SIGUSR2')
      await server.printed(new RegExp(`clock moved by ${offsetMs} ms`))
    }

    const short = chatStream(server, 'wait 1000')
    await server.printed(/waiting for 1000 ms/)
    await jump(HOUR_MS)
    const ended = await short
    expect(ended.text).to.include('"waited"').and.not.include('error')

    const long = chatStream(server, 'wait 9000')
    await server.printed(/waiting for 9000 ms/)
    await jump(-HOUR_MS)
    const cut = await long
    expect(cut.text).to.include('The run took longer than 3 s.')
    expect(cut.tookMs).to.be.within(2900, 8500)
    // The first chunk names the role, one is the error: the others keep the stream alive.
    expect(cut.text.match(/"delta":\{"content":""\}/g)).to.have.lengthOf.within(2, 3)

    const { json } = await server.ask('', { model: 'wait', input: 'wait 1' })
    expect(json.status).to.equal('completed')
  })
})

async function chatStream({ url }: ResponsesProcess, content: string) {
  const startedMs = performance.now()
  const body = JSON.stringify({ model: 'wait', stream: true, messages: [{ role: 'user', content }] })
  const address = new URL('/compat/chat/completions', url)
  const reply = await fetch(address, { method: 'POST', headers: HEADERS, body })
  return { text: await reply.text(), tookMs: performance.now() - startedMs }
}

const WAITING = {
  'agents/wait.yml': 'id: wait\nmodules:\n  - { id: wait, module: wait }\n',
  'modules/wait.ts': `import { setTimeout as wait } from 'node:timers/promises'
import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Wait', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({
    async handleText(text) {
      const ms = Number(text.split(' ')[1])
      console.log('waiting for ' + ms + ' ms')
      await wait(ms)
      await response.respondText('waited')
    } }) })`,
}
