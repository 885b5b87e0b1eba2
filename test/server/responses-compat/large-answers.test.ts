import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { HEADERS, startResponses } from '../../support/responses-process.ts'
import { makeProject } from '../../support/temp-project.ts'

const MIB = 1024 * 1024
const ECHO = 'id: echo\nmodules:\n  - { id: main, module: echo }\n'

describe('a large stored response', () => {
  it('is streamed to twenty slow readers at once, and sent to others, by a server with a heap of 96 MB', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': ECHO })
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const text = 'A "text" of 32 characters, \u00e9\u{1f600}. '.repeat((3 * MIB) / 32)
    const { json } = await server.ask('', { model: 'echo', input: text })
    const open = async (): Promise<IncomingMessage> => {
      const request = get(`${server.url}/${json.id}?stream=true`, { headers: HEADERS, agent: false })
      const [reply] = (await once(request, 'response')) as [IncomingMessage]
      return reply.pause()
    }
    const readers = await Promise.all(Array.from({ length: 20 }, open))
    // While they read nothing, others are answered.
    expect((await server.ask('', { model: 'echo', input: 'hi' })).status).to.equal(200)
    const records = await Promise.all(Array.from({ length: 10 }, () => server.ask(`/${json.id}`)))
    expect(records.every((record) => record.json.output[0].content[0].text === text)).to.equal(true)
    const digests = await Promise.all(readers.map(digestOf))
    expect(new Set(digests).size).to.equal(1)
    const events = await eventsOf(await open())
    expect(events.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.content_part.done',
      'response.output_text.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.at(-1)?.response).to.deep.equal(records[0]?.json)
  }).timeout(60_000)
})

async function digestOf(reply: IncomingMessage): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of reply) hash.update(chunk)
  return hash.digest('hex')
}

async function eventsOf(reply: IncomingMessage): Promise<{ type: string; response?: unknown }[]> {
  const chunks: Buffer[] = []
  for await (const chunk of reply) chunks.push(chunk)
  const frames = Buffer.concat(chunks)
    .toString()
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
  return frames.map((frame) => JSON.parse(frame.slice('data: '.length)))
}
