import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { runNode } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const ROOT = new URL('../../', import.meta.url)

/** Runs a script that imports the built `agent-host` as `built`, in a project; returns what it printed as JSON. */
async function runBuilt(files: Readonly<Record<string, string>>, lines: readonly string[]): Promise<unknown> {
  const { dir } = await makeProject({
    ...files,
    'script.mjs': [
      `import * as built from '${new URL('dist/index.js', ROOT)}'`,
      `import fastify from '${import.meta.resolve('fastify')}'`,
      "const options = { projectDir: import.meta.dirname, adapters: ['ChatCompatApiAdapter', 'UiApiAdapter'], logLevel: 'silent' }",
      "const ask = (url) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' },",
      "  body: JSON.stringify({ model: 'main', messages: [{ role: 'user', content: 'hi' }] }) })",
      ...lines,
    ].join('\n'),
  })
  const { stdout, stderr } = await runNode([`${dir}/script.mjs`])
  expect(stderr).equal('')
  return JSON.parse(stdout)
}

describe('the built code', () => {
  it('keeps the names of what it exports, and shares it with the code of a project', async () => {
    const module = `import { defineModule, HostError, TextMessageHandler } from 'agent-host'
      const refuse = () => { throw new HostError('REQUEST_INVALID', 'not this one') }
      export default defineModule({ name: 'Refusing', provides: [TextMessageHandler], create: () => ({ handleText: refuse }) })`
    const files = {
      'modules/refusing.ts': module,
      'agents/main.yml': 'id: main\nmodules: [{ id: m, module: refusing }]',
    }
    const result = await runBuilt(files, [
      "const renamed = Object.entries(built).filter(([name, value]) => typeof value === 'function' && value.name !== name)",
      'const server = await built.buildServer({ ...options, port: 0 })',
      "const response = await ask(await server.listen() + '/compat/chat/completions')",
      'console.log(JSON.stringify({ renamed, status: response.status, body: await response.json() }))',
      'await server.close()',
    ])
    expect(result).deep.equal({ renamed: [], status: 400, body: { detail: 'not this one' } })
  })

  it('answers first requests that load code at the same time', async () => {
    const files = { 'agents/main.yml': 'id: main\nmodules: [{ id: m, module: echo }]' }
    const result = await runBuilt(files, [
      'const server = await built.buildServer({ ...options, port: 0 })',
      'const url = await server.listen()',
      "const headers = { 'content-type': 'application/json' }",
      "const query = () => fetch(url + '/api/ui/graphql', { method: 'POST', headers, body: '{\"query\":\"{ list_agents { id } }\"}' })",
      "const requests = [query, query, query, () => fetch(url + '/api/ui/runs/none/tape'), () => fetch(url + '/api/ui/runs/none/tape')]",
      'console.log(JSON.stringify(await Promise.all(requests.map(async (send) => (await send()).status))))',
      'await server.close()',
    ])
    expect(result).deep.equal([200, 200, 200, 404, 404])
  })

  it('names the route of a response schema that is invalid, at its first answer', async () => {
    const adapter = `export class Odd { adapt(app) {
      app.get('/odd', { schema: { response: { 200: { $ref: '#/nowhere' } } } }, () => ({ a: 1 })) } }`
    const { dir } = await makeProject({
      'agents/main.yml': 'id: main\nmodules: [{ id: m, module: echo }]',
      'adapters/odd.ts': adapter,
      'script.mjs': `import { buildServer } from '${new URL('dist/index.js', ROOT)}'
        const server = await buildServer({ projectDir: import.meta.dirname, adapters: ['./adapters/odd.ts#Odd'], logLevel: 'error', port: 0 })
        const url = await server.listen()
        for (let round = 0; round < 2; round++) {
          const reply = await fetch(url + '/odd')
          console.log(reply.status, await reply.text())
        }
        await server.close()`,
    })
    const { stdout, stderr } = await runNode([`${dir}/script.mjs`])
    const lines = stdout.trimEnd().split('\n')
    const answer = '500 {"detail":"Internal Server Error"}'
    expect([stderr, lines.filter((line) => line.startsWith('500'))]).deep.equal(['', [answer, answer]])
    const messages = lines.filter((line) => !line.startsWith('500')).map((line) => JSON.parse(line).msg)
    const logged = messages.map((message) => message.replace(/^GET \/odd 500 [\d.]+ ms: /, ''))
    const route = 'The response schema of GET /odd for status 200 is invalid'
    expect(logged).deep.equal([
      `${route}: Cannot find reference "#/nowhere". Correct schema.response in the adapter that adds the route.`,
      `${route}: see the first error.`,
    ])
  })

  it('consists of the versions in the lock file, which the page of what is installed names', () => {
    const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8')
    const { packages } = JSON.parse(read('package-lock.json'))
    const bundled: { name: string; version: string; path: string; isNeeded: boolean }[] = JSON.parse(
      read('dist/bundled-packages.json'),
    )
    const locked = bundled.map((each) => ({ ...each, version: packages[each.path].version }))
    expect(bundled).deep.equal(locked)
    const page = read('docs/what-it-installs.md')
    const named = bundled.filter(({ isNeeded }) => !isNeeded)
    expect(named.map(({ name }) => name)).deep.equal([
      '@fastify/swagger',
      '@oclif/core',
      'esbuild',
      'fastify',
      'graphql',
      'graphql-http',
      'typebox',
      'yaml',
    ])
    for (const { name, version } of named) expect(page).contain(`| \`${name}\` | ${version} |`)
    const { dependencies, devDependencies } = JSON.parse(read('package.json'))
    for (const { name } of named) expect(dependencies).not.have.property(name)
    for (const { name } of named) expect(devDependencies).have.property(name)
  })

  it('depends on what esbuild depends on, whose code it has', () => {
    const read = (file: string) => JSON.parse(readFileSync(new URL(file, ROOT), 'utf8'))
    const { optionalDependencies } = read('node_modules/esbuild/package.json')
    expect(read('package.json').optionalDependencies).deep.equal(optionalDependencies)
  })

  it("serves within somebody's own Fastify, with its bundled plugins", async () => {
    const result = await runBuilt({ 'agents/main.yml': 'id: main\nmodules: [{ id: m, module: echo }]' }, [
      'const app = fastify()',
      "await app.register(built.agentHost, { ...options, prefix: '/agents' })",
      "app.get('/own', () => ({ hello: 'there' }))",
      'const url = await app.listen({ port: 0 })',
      "const answer = await (await ask(url + '/agents/compat/chat/completions')).json()",
      "const document = await (await fetch(url + '/agents/openapi.json')).json()",
      "const page = await fetch(url + '/agents/')",
      "const own = await (await fetch(url + '/own')).json()",
      'const [choice] = answer.choices',
      'console.log(JSON.stringify({ text: choice.message.content, openapi: document.openapi, page: page.status, own }))',
      'await app.close()',
    ])
    expect(result).deep.equal({ text: 'hi', openapi: '3.1.0', page: 200, own: { hello: 'there' } })
  })
})
