import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import { answerSchema } from '../../../modules/llm/lib/offline-arguments.ts'
import openapi from '../../../modules/tools/openapi.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']

describe('tools/openapi with the document of this server', () => {
  afterEach(closeServers)

  it('calls every operation by its method and path', async () => {
    const { app } = await makeServer({ adapters: ADAPTERS, metrics: true })
    const document = (await app.inject('/openapi.json')).body
    const lines: string[] = []
    const recorder = createServer((request, reply) => {
      lines.push(`${request.method} ${new URL(request.url ?? '', 'http://x').pathname}`)
      request.resume().on('end', () => reply.end('{}'))
    })
    await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve))
    const { port } = recorder.address() as AddressInfo
    const { dir } = await makeProject({ 'api.json': document })
    const config = { document: 'api.json', base_url: `http://127.0.0.1:${port}` }
    const checked = Value.Parse(openapi.config, Value.Default(openapi.config, config))
    const provider = await openapi.create({}, checked, makeContext({ projectDir: dir }))
    try {
      const expected: string[] = []
      const failed: string[] = []
      for (const [path, item] of Object.entries<object>(JSON.parse(document).paths)) {
        for (const method of Object.keys(item).filter((key) => METHODS.includes(key))) {
          expected.push(`${method.toUpperCase()} ${path.replace(/\{[^}]+\}/g, '[^/]+')}`)
        }
      }
      const tools = await provider.listTools(makeRun())
      for (const { name, parameters } of tools) {
        const args = answerSchema('hello', withoutChoice({ ...parameters })) as Record<string, unknown>
        // The plainest values of maps and lists may break their limits.
        const body = args.body as { metadata?: unknown; items?: unknown } | undefined
        if (body?.metadata !== undefined) body.metadata = {}
        if (body?.items !== undefined) body.items = [{ type: 'message', role: 'user', content: 'hello' }]
        const { isError } = await provider
          .executeTool(name, args, makeRun())
          .catch((error) => ({ isError: error.message }))
        if (isError !== undefined) failed.push(`${name}: ${isError}`)
      }
      expect(failed).to.deep.equal([])
      expect(lines.length).to.equal(expected.length)
      const uncalled = expected.filter((line) => !lines.some((sent) => new RegExp(`^${line}$`).test(sent)))
      expect(uncalled).to.deep.equal([])
    } finally {
      await provider[Symbol.asyncDispose]?.()
      recorder.closeAllConnections()
      await new Promise((resolve) => recorder.close(resolve))
    }
  })
})

/** The first alternative of a body. */
function withoutChoice(parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { properties = {} } = parameters as { properties?: Record<string, { anyOf?: unknown[] }> }
  const [first] = properties.body?.anyOf ?? []
  return first === undefined ? parameters : { ...parameters, properties: { ...properties, body: first } }
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
