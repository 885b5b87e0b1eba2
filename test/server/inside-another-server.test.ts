import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { agentHost, buildServer, type HostError } from 'agent-host'
import { expect } from 'chai'
import { execa } from 'execa'
import fastify from 'fastify'
import { eventually } from '../support/eventually.ts'
import { AGENTS, chat, readEvents } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/inside-another-server/', import.meta.url))
const OPTIONS = { adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'], drainTimeout: 0 }

const post = (url: string, payload: object) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(payload) })

describe('agentHost in a Fastify app', () => {
  it('rejects anything but a Fastify instance, with the next step', async () => {
    const { server, prefix, version } = fastify()
    const failure: HostError = await agentHost({ server, prefix, version }, {}).catch((error) => error)
    expect([failure.code, failure.suggestions]).to.deep.equal([
      'OPTION_INVALID',
      ['Register it: app.register(agentHost, { ... })'],
    ])
  })

  it('serves its routes under the prefix, without affecting the rest of the app', async () => {
    const project = await makeProject(AGENTS)
    const app = fastify()
    app.get('/', () => 'own')
    app.post('/form', (request) => ({ got: request.body }))
    app.register(agentHost, { prefix: '/agents', projectDir: project.dir, ...OPTIONS })
    const url = await app.listen({ port: 0 })
    try {
      const answer = await post(`${url}/agents/compat/chat/completions`, chat('echo', 'hi'))
      expect(((await answer.json()) as { choices: object[] }).choices[0]).to.deep.include({ finish_reason: 'stop' })
      const stream = await post(`${url}/agents/compat/chat/completions`, chat('echo', 'hi', { stream: true }))
      expect(readEvents(await stream.text()).at(-1)).to.equal('[DONE]')
      const stored = (await (await post(`${url}/agents/compat/responses`, { model: 'echo', input: 'hi' })).json()) as {
        id: string
        status: string
      }
      expect((await fetch(`${url}/agents/compat/responses/${stored.id}`)).status).to.equal(200)
      const unknown = await post(`${url}/agents/v1/chat/completions`, chat('nobody', 'hi'))
      expect(await unknown.json()).to.have.nested.property('error.code', 'model_not_found')
      const nowhere = await fetch(`${url}/agents/nowhere`)
      expect([nowhere.status, await nowhere.json()]).to.deep.equal([404, { detail: 'Not Found' }])
      expect(await (await fetch(url)).text()).to.equal('own')
      const text = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'plain' }
      expect(await (await fetch(`${url}/form`, text)).json()).to.deep.equal({ got: 'plain' })
      expect((await (await fetch(`${url}/nowhere`)).json()) as object).to.include({ error: 'Not Found' })
      await project.write('agents/late.yml', 'id: late\nmodules: [{ id: main, module: echo }]')
      await eventually(async () =>
        expect((await post(`${url}/agents/compat/chat/completions`, chat('late', 'hi'))).status).to.equal(200),
      )
    } finally {
      await app.close()
    }
  })

  for (const [prefix, path] of [
    ['/v1', '/v1'],
    ['/compat/agents/', '/compat/agents'],
    ['/:version/agents', '/v1/agents'],
  ] as const) {
    it(`speaks the dialect of the route, whatever its own prefix is called: ${prefix}`, async () => {
      const project = await makeProject(AGENTS)
      const app = fastify()
      app.register(agentHost, { prefix, projectDir: project.dir, ...OPTIONS })
      const url = (await app.listen({ port: 0 })) + path
      try {
        const unknown = { type: 'function', function: { name: 'nothing' } }
        const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }]
        const form = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'a' }
        const isExtended = async (reply: Response) => 'error' in ((await reply.json()) as object)
        for (const [dialect, answers] of [
          ['compat', false],
          ['v1', true],
        ] as const) {
          const completions = `${url}/${dialect}/chat/completions`
          const refused = await post(completions, chat('echo', 'hi', { tools, tool_choice: unknown }))
          expect(refused.status, dialect).to.equal(answers ? 400 : 200)
          const told = [await fetch(completions, form), await fetch(`${url}/${dialect}/nowhere`)].map(isExtended)
          expect(await Promise.all(told), dialect).to.deep.equal([answers, answers])
        }
      } finally {
        await app.close()
      }
    })
  }

  it('fails the start of the app on invalid options', async () => {
    const { dir } = await makeProject(AGENTS)
    const app = fastify()
    app.register(agentHost, { projectDir: dir, adapters: ['Nothing'] })
    const error = await Promise.resolve(app.ready()).catch((thrown: HostError) => thrown)
    expect(error).to.include({ code: 'ADAPTER_NOT_FOUND' })
    await app.close()
  })
})

describe('handle of a server', () => {
  it('explains a body that another parser has already read', async () => {
    const { dir } = await makeProject(AGENTS)
    const agents = await buildServer({ projectDir: dir, ...OPTIONS, logLevel: 'silent' })
    const outer = createServer((request, response) => {
      request.resume().once('end', () => agents.handle(request, response))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => outer.once('listening', resolve))
    try {
      const url = `http://127.0.0.1:${(outer.address() as AddressInfo).port}`
      const answer = await post(`${url}/compat/chat/completions`, chat('echo', 'hi'))
      expect([answer.status, await answer.json()]).to.deep.equal([
        500,
        { detail: 'The body was read by another parser: put agent-host before it' },
      ])
      const chunked = request(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      })
      // Two pieces have no length.
      chunked.write('{"model":')
      chunked.end('"echo"}')
      const [{ statusCode }] = (await once(chunked, 'response')) as [{ statusCode: number }]
      expect(statusCode).to.equal(500)
      expect((await fetch(`${url}/compat/models`)).status).to.equal(200)
    } finally {
      outer.close()
      await agents.close()
    }
  })

  it('links to decisions under the path at which the app has it', async () => {
    const calls = "{ name: pay, arguments: { amount: 1, to: '' } }"
    const { dir } = await makeProject({ ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', calls) })
    const agents = await buildServer({ projectDir: dir, ...OPTIONS, logLevel: 'silent' })
    // As Express and Connect do it.
    const outer = createServer((request, response) => {
      const { url = '' } = request
      agents.handle(Object.assign(request, { originalUrl: url, url: url.slice('/agents'.length) }), response)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => outer.once('listening', resolve))
    try {
      const url = `http://127.0.0.1:${(outer.address() as AddressInfo).port}/agents`
      const params = { name: 'shop', arguments: { message: 'pay' } }
      const chat = { model: 'shop', messages: [{ role: 'user', content: 'pay' }] }
      for (const [path, body] of [
        ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }],
        ['/compat/chat/completions', chat],
      ] as const) {
        const answer = await post(url + path, body)
        const [link = ''] = /http:\S+mcpr_[\w-]+/.exec(await answer.text()) ?? []
        expect(link.startsWith(`${url}/compat/approvals/`), `${path}: ${link}`).to.equal(true)
        expect((await post(link, { decision: 'approve' })).status).to.equal(200)
      }
    } finally {
      outer.close()
      await agents.close()
    }
  })
})

describe('examples/inside-another-server', () => {
  for (const file of ['fastify.js', 'express.js', 'node-http.js']) {
    it(`${file} serves the app and its agents`, async () => {
      const options = { cwd: EXAMPLE, env: { PORT: '0' }, reject: false, timeout: 55_000 }
      const child = execa('node', [file], options)
      try {
        let output = ''
        child.stdout?.on('data', (text: Buffer) => {
          output += text
        })
        await eventually(() => expect(output).to.match(/http:\/\/[\d.]+:\d+/), 50_000)
        const url = /http:\/\/[\d.]+:\d+/.exec(output)?.[0] ?? ''
        expect(await (await fetch(url)).text()).to.equal('The app itself')
        const answer = await post(`${url}/agents/compat/chat/completions`, chat('echo', 'hello'))
        expect(((await answer.json()) as { choices: { message: object }[] }).choices[0]?.message).to.deep.equal({
          role: 'assistant',
          content: 'hello',
        })
        const listed = await post(`${url}/agents/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
        expect(await listed.text()).to.contain('"name":"echo"')
      } finally {
        child.kill()
        await child
      }
    })
  }
})
