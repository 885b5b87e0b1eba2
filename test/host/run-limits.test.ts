import { AgentHost, HostError } from 'agent-host'
import { expect } from 'chai'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { makeProject } from '../support/temp-project.ts'

const WAITING = {
  'modules/wait.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Wait', provides: [TextMessageHandler], create: () => ({
  handleText: (text, run) => new Promise((resolve, reject) => {
    if (text === 'go') return resolve()
    run.signal.addEventListener('abort', () => reject(run.signal.reason))
  }) }) })`,
}

describe('limits of runs', () => {
  const hosts: AgentHost[] = []
  afterEach(closeServers)
  afterEach(async () => {
    await Promise.all(hosts.splice(0).map((host) => host.close(0)))
  })

  async function open(options: ConstructorParameters<typeof AgentHost>[0]) {
    const { dir } = await makeProject(WAITING)
    const host = new AgentHost({ projectDir: dir, ...options })
    hosts.push(host)
    await host.register({ id: 'a', modules: [{ id: 'm', module: 'wait' }] })
    const start = (content: string, background = false) => {
      const { result } = host.start('a', { messages: [{ role: 'user', content }], background })
      return result.then(
        () => 'ended',
        (error: HostError) => error,
      )
    }
    return { host, start }
  }

  it('abort only runs that take too long', async () => {
    const { start } = await open({ runTimeoutMs: 300 })
    const startedMs = performance.now()
    const error = (await start('wait')) as HostError
    expect(performance.now() - startedMs).to.be.within(290, 3000)
    expect(error.code).to.equal('RUN_ABORTED')
    expect(error.cause).to.be.instanceOf(HostError).and.to.include({
      code: 'RUN_TIMEOUT',
      message: 'The run took longer than 0.3 s.',
    })
    expect(await start('go')).to.equal('ended')
  })

  it('are reported to the client', async () => {
    const { app } = await makeServer({ runTimeout: 1 })
    const response = await app.inject({
      method: 'POST',
      url: '/compat/chat/completions',
      payload: chat('probe', 'wait 9000'),
    })
    expect([response.statusCode, response.json()]).to.deep.equal([504, { detail: 'The run took longer than 1 s.' }])
    expect(response.headers['x-should-retry']).to.equal('false')
  })

  it('are separate for background runs, so that these block nobody', async () => {
    const { host, start } = await open({ maxConcurrentRuns: 1, maxBackgroundRuns: 2 })
    void start('wait', true)
    void start('wait', true)
    expect(() => host.start('a', { messages: [{ role: 'user', content: 'x' }], background: true })).to.throw(
      'All slots for background runs are taken (limit: 2).',
    )
    expect(await start('go')).to.equal('ended')
    void start('wait')
    expect(() => host.start('a', { messages: [{ role: 'user', content: 'x' }] })).to.throw(
      'All slots for runs are taken (limit: 1).',
    )
    expect(host.runningCount).to.equal(3)
  })
})
