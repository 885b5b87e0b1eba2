import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { WebSocket } from 'ws'
import { FollowedKeys } from '../../../src/server/guards/followed-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { chat, closeServers, makeServer, probeSeen } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']

function entry(name: string, fields = ''): string {
  return `  - { name: ${name}, digest: "sha256:${hash('sha256', `key-of-${name}`)}", scopes: [run]${fields} }\n`
}

const MODELS = '/compat/models'

describe('the file of keys, while it is followed', () => {
  afterEach(closeServers)

  const makeFollowed = (...entries: string[]) => follow(entries)

  async function follow(entries: string[], options: Parameters<typeof makeServer>[0] = {}) {
    const write = (...lines: string[]) => `keys:\n${lines.join('')}`
    const files = { 'keys.yml': write(...entries) }
    const { app, project, listen } = await makeServer({ adapters: ADAPTERS, keys: 'keys.yml', ...options }, files)
    const path = join(project.dir, 'keys.yml')
    const ask = async (name: string, url = MODELS, payload?: object) => {
      const headers = { authorization: `Bearer key-of-${name}` }
      return app.inject({ method: payload ? 'POST' : 'GET', url, headers, payload })
    }
    const statusOf = async (name: string) => (await ask(name)).statusCode
    const replace = async (...lines: string[]) => {
      await writeFile(`${path}.new`, write(...lines))
      await rename(`${path}.new`, path)
    }
    return { app, listen, ask, statusOf, replace, path }
  }

  it('lets in a new key, and refuses one that is gone, within two seconds', async () => {
    const { statusOf, replace } = await makeFollowed(entry('ada'), entry('bob'))
    expect([await statusOf('ada'), await statusOf('bob'), await statusOf('eve')]).to.deep.equal([200, 200, 401])
    await replace(entry('bob'), entry('eve'))
    await eventually(async () => expect(await statusOf('eve')).to.equal(200), 2000)
    expect([await statusOf('ada'), await statusOf('bob')]).to.deep.equal([401, 200])
  })

  it('keeps its last good version when it is gone, empty, wrong or holds a key of an option', async () => {
    const { app, statusOf, replace, path } = await makeFollowed(entry('ada'))
    const readiness = async () => (await app.inject('/readyz')).json()
    const WEAK = { status: 'ok', detail: 'keys.yml cannot be used as it is now. Its last good version is in use.' }
    for (const damage of [() => rm(path), () => writeFile(path, ''), () => replace(entry('eve', ', scope: x'))]) {
      await replace(entry('ada'))
      await eventually(async () => expect(await readiness()).to.deep.equal({ status: 'ok' }), 5000)
      await damage()
      await eventually(async () => expect(await readiness()).to.deep.equal(WEAK), 5000)
      expect([await statusOf('ada'), await statusOf('eve')]).to.deep.equal([200, 401])
    }
  })

  it('goes through a link that comes in its place, and keeps the last good version where that leads to no file', async () => {
    const { app, statusOf, path } = await makeFollowed(entry('ada'), entry('bob'))
    const link = async (target: string) => {
      await symlink(target, `${path}.new`)
      await rename(`${path}.new`, path)
    }
    expect(await statusOf('ada')).to.equal(200)
    await writeFile(`${path}.mounted`, `keys:\n${entry('bob')}`)
    await link('keys.yml.mounted')
    await eventually(async () => expect(await statusOf('ada')).to.equal(401), 2000)
    await writeFile(`${path}.other`, `keys:\n${entry('eve')}`)
    await rename(`${path}.other`, `${path}.mounted`)
    await eventually(async () => expect(await statusOf('eve')).to.equal(200), 2000)
    execFileSync('mkfifo', [`${path}.pipe`])
    const ready = async () => (await app.inject('/readyz')).json().detail ?? 'in use'
    for (const target of ['/dev/zero', 'keys.yml.pipe', '/', 'nowhere.yml']) {
      await link('keys.yml.mounted')
      await eventually(async () => expect(await ready()).to.equal('in use'), 5000)
      await link(target)
      await eventually(async () => expect(await ready()).to.contain('Its last good version is in use.'), 5000)
      expect([await statusOf('eve'), await statusOf('bob')]).to.deep.equal([200, 401])
    }
  })

  it('refuses a key that is gone, also where another line cannot be used', async () => {
    const { app, statusOf, replace } = await follow([entry('ada'), entry('bob')], { compatApiKey: 'key-of-eve' })
    expect([await statusOf('ada'), await statusOf('bob')]).to.deep.equal([200, 200])
    await replace(entry('bob', ', limits: { requests_per_minute: 1 }'), entry('eve'))
    await eventually(async () => expect(await statusOf('ada')).to.equal(401), 2000)
    expect((await app.inject('/readyz')).json().detail).to.contain('Its last good version is in use.')
    expect([await statusOf('bob'), await statusOf('bob')]).to.deep.equal([200, 200])
  })

  it('refuses a key whose time is over, also while the file is broken', async () => {
    const { statusOf, replace, path } = await makeFollowed(entry('ada'), entry('bob'))
    expect(await statusOf('ada')).to.equal(200)
    const soon = new Date(Date.now() + 3000).toISOString()
    await replace(entry('ada', `, expires: "${soon}"`), entry('bob'), entry('eve'))
    await eventually(async () => expect(await statusOf('eve')).to.equal(200), 3000)
    await writeFile(path, 'keys: broken')
    await eventually(async () => expect(await statusOf('ada')).to.equal(401), 6000)
    expect(await statusOf('bob')).to.equal(200)
  })

  it('ends the streams and sockets of a key that is gone, and no other, within five seconds', async () => {
    const { listen, replace, statusOf } = await makeFollowed(entry('ada'), entry('bob'))
    const url = await listen()
    const stream = async (name: string) => {
      const headers = { authorization: `Bearer key-of-${name}`, 'content-type': 'application/json' }
      const body = JSON.stringify(chat('probe', `wait ${name === 'ada' ? 60_001 : 2500}`, { stream: true }))
      const answer = await fetch(`${url}/compat/chat/completions`, { method: 'POST', headers, body })
      return answer.text()
    }
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: 'Bearer key-of-ada' },
    })
    await once(socket, 'open')
    const closed = once(socket, 'close')
    const [ofAda, ofBob] = [stream('ada').catch(() => 'cut'), stream('bob')]
    await eventually(() => expect(probeSeen()).to.include.members(['began 60001', 'began 2500']))
    await replace(entry('bob'))
    await eventually(async () => expect(await statusOf('ada')).to.equal(401), 2000)
    const began = Date.now()
    expect(await ofAda).to.equal('cut')
    await closed
    expect(Date.now() - began).to.be.below(5000)
    expect(await ofBob).to.contain('waited')
    await eventually(() => expect(probeSeen()).to.include('aborted 60001'))
  })

  it('lets a background run of a key that is gone end', async () => {
    const { ask, replace, statusOf } = await makeFollowed(entry('ada'), entry('bob'))
    const body = { model: 'probe', input: 'wait 1500', background: true }
    const { id } = (await ask('ada', '/v1/responses', body)).json()
    await replace(entry('bob'))
    await eventually(async () => expect(await statusOf('ada')).to.equal(401), 2000)
    const status = async () => (await ask('bob', `/v1/responses/${id}`)).json().status
    await eventually(async () => expect(await status()).to.equal('completed'), 10_000)
  })

  it('is read again when it begins to be followed: a key that was taken out while the server started opens nothing', async () => {
    const { dir } = await makeProject({ 'keys.yml': `keys:\n${entry('ada')}${entry('bob')}` })
    const keys = await FollowedKeys.read(`${dir}/keys.yml`, dir)
    await writeFile(`${dir}/keys.yml`, `keys:\n${entry('bob')}`)
    const lines: string[] = []
    const log = { info: (line: string) => lines.push(line), warn: () => {}, error: () => {} }
    const stop = keys.follow(log as unknown as Parameters<typeof keys.follow>[0], {
      check: () => {},
      listAgents: () => [],
      listMissing: () => [],
    })
    await eventually(() => expect(lines).to.deep.equal(['keys.yml has changed: 1 key.']))
    expect([
      keys.find(hash('sha256', 'key-of-ada')),
      keys.find(hash('sha256', 'key-of-bob'))?.principal.name,
    ]).to.deep.equal([undefined, 'bob'])
    stop()
  })

  it('says the line of agents that there are none of, once, and again when the file names others', async () => {
    const { dir } = await makeProject({ 'keys.yml': `keys:\n${entry('ada', ', agents: [ehco, echo]')}` })
    const keys = await FollowedKeys.read(`${dir}/keys.yml`, dir)
    const warnings: string[] = []
    const log = { info: () => {}, warn: (line: string) => warnings.push(line), error: () => {} }
    await chmod(`${dir}/keys.yml`, 0o600)
    const stop = keys.follow(log as never, { check: () => {}, listAgents: () => ['echo'], listMissing: () => [] })
    await eventually(() => expect(warnings.length).to.equal(1))
    expect(warnings[0]).to.match(
      /^keys\.yml:2:\d+: The key of 'ada' is for 'ehco', which matches no agent\. Did you mean 'echo'\?$/,
    )
    await writeFile(`${dir}/keys.yml`, `keys:\n${entry('bob')}${entry('ada', ', agents: [ecko]')}`)
    await eventually(() => expect(warnings.length).to.equal(2))
    expect(warnings[1]).to.match(/^keys\.yml:3:\d+: The key of 'ada' is for 'ecko'/)
    stop()
  })

  it('limits a key to its adapters', async () => {
    const { ask } = await makeFollowed(entry('ada', ', adapters: [ChatCompatApiAdapter]'), entry('bob'))
    expect((await ask('ada')).statusCode).to.equal(200)
    const refused = await ask('ada', '/v1/responses/resp_x')
    expect(refused.statusCode).to.equal(403)
    expect(refused.body).to.contain("The key 'ada' is not for ResponsesCompatApiAdapter")
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await ask('ada', '/mcp', ping)).json().error.message).to.equal("The key 'ada' is not for McpApiAdapter")
    expect((await ask('bob', '/mcp', ping)).json().result).to.deep.equal({})
  })
})
