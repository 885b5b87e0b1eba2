import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { runNode } from '../../support/run-cli.ts'

const AWS = 'application/vnd.amazon.eventstream'
const EVENTS = 'text/event-stream'

/** Answers by their path: status, type, and what comes first, and again and again after it. */
const ANSWERS: Readonly<Record<string, readonly [number, string, string | Buffer, string]>> = {
  line: [200, EVENTS, 'data: ', 'x'],
  lines: [200, EVENTS, '', 'data: x\n'],
  json: [200, 'application/json', '{"data": "', 'x'],
  error: [500, 'application/json', '{"error": "', 'x'],
  message: [200, AWS, Buffer.from('7fffffff', 'hex'), 'x'],
  vectors: [200, 'application/json', '{"data": [', '1,'],
}

describe('an answer of a model without an end', () => {
  let server: Server
  before(async () => {
    server = createServer((request, response) => {
      const [status, type, first, again] = ANSWERS[request.url?.split('/')[1] ?? ''] ?? [404, '', '', '']
      const piece = again.repeat(64 * 1024)
      const write = () => {
        while (!response.destroyed && response.write(piece)) {}
      }
      request.resume()
      response.writeHead(status, { 'content-type': type }).write(first)
      response.on('drain', write)
      write()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Asks in a process of little memory, with the loop of events watched. */
  async function ask(module: string, call: string, path: string, config: object = {}) {
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`
    const given = { base_url, model: 'm', api_key: 'k', max_retries: 0, ...config }
    const url = (file: string) => JSON.stringify(new URL(`../../../${file}`, import.meta.url).href)
    const code = `import { Value } from 'typebox/value'
      import module from ${url(`modules/${module}.ts`)}
      import { makeContext, makeRun, says } from ${url('test/support/fake-run.ts')}
      const ask = async (given) => {
        const config = Value.Parse(module.config, Value.Default(module.config, given))
        const made = await module.create({}, config, makeContext())
        ${call}
      }
      const given = ${JSON.stringify(given)}
      // What it loads for its first request is loaded before.
      await ask({ ...given, base_url: 'http://127.0.0.1:1' }).catch(() => {})
      let [latest, longest] = [performance.now(), 0]
      const tick = () => {
        longest = Math.max(longest, performance.now() - latest)
        latest = performance.now()
      }
      const timer = setInterval(tick, 5)
      const error = await ask(given).catch(({ message }) => message)
      tick()
      clearInterval(timer)
      console.log(JSON.stringify({ error, longest }))`
    const args = ['--max-old-space-size=96', '--import=tsx', '--input-type=module', '-e', code]
    const { stdout, stderr } = await runNode(args)
    expect(stderr).to.equal('')
    const { error, longest } = JSON.parse(stdout)
    expect(longest).to.be.below(1000)
    return String(error)
  }

  const generate = `for await (const _ of made.generate({ messages: [says('hi')] }, makeRun())) {}`
  const event = /the model answered more than 16 MiB in one event/
  for (const [title, module, call, path, problem, config] of [
    ['one line', 'llm/openai-compatible', generate, 'line', event],
    ['lines without a blank one', 'llm/openai-compatible', generate, 'lines', event],
    ['JSON in the place of events', 'llm/openai-compatible', generate, 'json', /^JSON|^text behind status 200 instead/],
    ['an error', 'llm/openai-compatible', generate, 'error', /^the server answered more than 1 MiB \(status 500 from/],
    ['a message of AWS', 'llm/bedrock', generate, 'message', event],
    [
      'a number of tokens',
      'llm/anthropic',
      "await made.countTokens({ messages: [says('hi')] }, makeRun())",
      'json',
      /the server answered more than 1 MiB/,
    ],
    [
      'vectors',
      'embedder/openai',
      "await made.embed(['a'], makeRun())",
      'vectors',
      /cannot be used: the server answered more than 1.25 MiB$/,
      { headers: {}, batch_size: 128, timeout: 60 },
    ],
  ] as const) {
    it(`fails soon, and leaves the process its memory and its time: ${title}`, async () => {
      expect(await ask(module, call, path, config)).to.match(problem)
    }).timeout(20_000)
  }
})
