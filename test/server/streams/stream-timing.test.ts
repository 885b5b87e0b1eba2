import { expect } from 'chai'
import { RESPONSES_PROJECT } from '../../support/responses.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
/** Says a word at once and another after a pause, and notes when it has ended. */
const PACED = {
  ...RESPONSES_PROJECT,
  'agents/paced.yml': 'id: paced\nmodules: [{ id: main, module: paced }]',
  'modules/paced.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Paced', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText() {
    await response.respondText('first ')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await response.respondText('last')
    globalThis.pacedEndMs = performance.now()
  } }) })`,
}

/** Milliseconds from the request to the first word, and from the end of the agent to that of the stream. */
async function timesOf(url: string, body: object): Promise<{ first: number; last: number }> {
  const startedMs = performance.now()
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  let text = ''
  let firstMs: number | undefined
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('first ')) firstMs ??= performance.now()
  }
  const { pacedEndMs = 0 } = globalThis as { pacedEndMs?: number }
  return { first: (firstMs ?? Number.NaN) - startedMs, last: performance.now() - pacedEndMs }
}

describe('a stream', () => {
  afterEach(closeServers)

  for (const [path, body] of [
    ['/compat/chat/completions', chat('paced', 'go', { stream: true })],
    ['/compat/responses', { model: 'paced', input: 'go', stream: true }],
  ] as const) {
    it(`starts within 100 ms, and ends within 100 ms of its agent: ${path}`, async () => {
      const url = (await (await makeServer({ adapters: ADAPTERS }, PACED)).listen()) + path
      // The first one pays for code that runs for the first time. Of the others the best: the machine may be busy.
      await timesOf(url, body)
      const times = [await timesOf(url, body), await timesOf(url, body), await timesOf(url, body)]
      expect(Math.min(...times.map(({ first }) => first))).to.be.below(100)
      expect(Math.min(...times.map(({ last }) => last))).to.be.below(100)
    })
  }
})
