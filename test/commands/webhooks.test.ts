import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { buildServer } from '../../src/server/server.ts'
import { callCli } from '../support/call-cli.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`

describe('agent-host webhooks', () => {
  let receiver: Server
  let status: number
  let count = 0

  beforeEach(async () => {
    ;[status, count] = [500, 0]
    receiver = createServer((request, response) => {
      count++
      request.resume()
      response.writeHead(status, status === 101 ? { connection: 'upgrade', upgrade: 'x' } : {}).end()
    })
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  })
  afterEach(() => new Promise((done) => receiver.close(done)))

  const makeHooks = async () => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    const hook = `{ url: "${url}?token=canary", secret: "\${HOOK_SECRET}", events: [response.completed] }`
    const { dir } = await makeProject({
      'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
      'webhooks.yml': `webhooks: [${hook}]`,
      '.env': `HOOK_SECRET=${SECRET}`,
    })
    return { dir, url, call: (...args: string[]) => callCli(['webhooks', ...args], { cwd: dir }) }
  }

  it('test: sends a signed event to one of the file, and says whether it has arrived', async () => {
    const { url, call } = await makeHooks()
    status = 204
    const refused = await call('test', url)
    expect([refused.exitCode, refused.stderr.split('\n')[0]]).to.deep.equal([
      2,
      `Error: ${url} has not taken the event: 127.0.0.1 is not public. --webhook-allow-private allows such addresses.`,
    ])
    const { stdout, exitCode } = await call('test', url, '--webhook-allow-private')
    expect([exitCode, count]).to.deep.equal([0, 1])
    expect(stdout).to.match(new RegExp(`^${url} has taken evt_\\S+, a response.completed of`))
    expect((await call('test', 'https://other.example')).stderr).to.contain('No webhook has this address.')
  })

  it('test: says that an event has not arrived where the answer is 101', async () => {
    const { url, call } = await makeHooks()
    status = 101
    const { exitCode, stderr } = await call('test', url, '--webhook-allow-private')
    expect([exitCode, stderr.split('\n')[0]]).to.deep.equal([
      2,
      `Error: ${url} has not taken the event: the server answered 101`,
    ])
  })

  it('list and retry: show what has not arrived, without secrets, and try it again', async () => {
    const { dir, url, call } = await makeHooks()
    process.env.HOOK_SECRET = SECRET
    const server = await buildServer({
      projectDir: dir,
      adapters: ['ResponsesCompatApiAdapter'],
      logLevel: 'silent',
      webhookAllowPrivate: true,
    })
    try {
      const payload = { model: 'echo', input: 'hi' }
      await server.app.inject({ method: 'POST', url: '/compat/responses', payload })
      await eventually(() => expect(count).to.equal(1))
      const { stdout } = await eventually(async () => {
        const listed = await call('list')
        expect(listed.stdout).to.contain('It answered 500.')
        return listed
      })
      expect(stdout).to.contain(`${url}  response.completed  all     -\n`)
      expect(stdout).to.not.contain('canary').and.to.not.contain(SECRET.slice(6))
      const [, id = ''] = /^(evt_\S+)/m.exec(stdout) ?? []
      status = 204
      expect((await call('retry', id.slice(0, 10))).stdout).to.equal(`Queued delivery ${id}.\n`)
      await eventually(async () => expect((await call('list')).stdout).to.not.contain('evt_'))
      expect((await call('retry', 'evt_none')).stderr).to.contain("No delivery begins with 'evt_none'.")
    } finally {
      delete process.env.HOOK_SECRET
      await server.close()
    }
  })
})
