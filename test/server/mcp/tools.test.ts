import { expect } from 'chai'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { makeMcp } from '../../support/mcp.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('agents as tools', () => {
  afterEach(closeServers)

  describe('that declare input and output', () => {
    const isUnfit = /^The agent did not answer as its output schema says: /

    it('are listed with their schemas, title and hints', async () => {
      const { ask } = await makeMcp()
      const { tools } = (await ask({ id: 1, method: 'tools/list' })).result
      expect(tools.find(({ name }: Json) => name === 'sum')).to.deep.equal({
        name: 'sum',
        description: 'Adds',
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number', minimum: 0 } },
          required: ['a'],
        },
        outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        annotations: { readOnlyHint: true, openWorldHint: false },
      })
    })

    it('get the arguments as a value and as text, and return a value and its text', async () => {
      const { call } = await makeMcp()
      const text = '{"sum":3,"text":"{\\"a\\":1,\\"b\\":2}"}'
      expect((await call('sum', { a: 1, b: 2 })).result).to.deep.equal({
        content: [{ type: 'text', text }],
        structuredContent: { sum: 3, text: '{"a":1,"b":2}' },
      })
      expect((await call('sum', { a: 15 })).result.structuredContent.sum).to.equal(15)
    })

    it('reject invalid arguments, and name the field', async () => {
      const { call } = await makeMcp()
      const refusal = async (args: unknown) => (await call('sum', args)).error
      expect(await refusal({})).to.deep.equal({ code: -32602, message: 'Invalid params: arguments: a is missing.' })
      expect((await refusal({ a: 'x' })).message).to.match(/arguments: a must be a number/)
      expect((await refusal({ a: 1, b: -1 })).message).to.match(/arguments: b must be a number of at least 0/)
    })

    it('reject arguments that a pattern takes too long for, and go on serving', async () => {
      const name = '    name: { type: string, pattern: "^(a+)+$" }'
      const { call } = await makeMcp(
        {},
        {
          'agents/slow.yml': `id: slow\ninput:\n  type: object\n  properties:\n${name}\nmodules: [{ id: main, module: echo }]`,
        },
      )
      expect((await call('slow', { name: 'aaa' })).error).to.equal(undefined)
      const spentMs = measureCpuTime()
      expect((await call('slow', { name: `${'a'.repeat(29)}!` })).error).to.deep.equal({
        code: -32602,
        message: 'Invalid params: arguments: its checks take longer than 200 ms.',
      })
      expect(spentMs()).to.be.lessThan(1500)
    })

    it('report an answer that does not match to the model', async () => {
      const { call } = await makeMcp()
      for (const a of [13, 14]) {
        const { result } = await call('sum', { a })
        expect([result.isError, result.structuredContent]).to.deep.equal([true, undefined])
        expect(result.content[0].text).to.match(isUnfit)
        expect(result.content[1].text).to.match(/unlucky|none/)
      }
    })
  })

  describe('that hold conversations', () => {
    const idIn = (result: Json) => /^conversation_id: ([0-9a-f-]{36})$/.exec(result.content.at(-1).text)?.[1]

    it('continue the named one, and start one otherwise', async () => {
      const { call, ask } = await makeMcp()
      const { tools } = (await ask({ id: 1, method: 'tools/list' })).result
      const { inputSchema } = tools.find(({ name }: Json) => name === 'guide')
      expect(Object.keys(inputSchema.properties)).to.deep.equal(['message', 'conversation_id'])
      expect(inputSchema.required).to.deep.equal(['message'])
      const first = (await call('guide', { message: 'say hello' })).result
      const conversation_id = idIn(first)
      const next = (await call('guide', { message: 'history', conversation_id })).result
      expect(JSON.parse(next.content[0].text)).to.deep.equal(['user: say hello', 'assistant: hello', 'user: history'])
      expect(idIn(next)).to.equal(conversation_id)
      const other = (await call('guide', { message: 'history' })).result
      expect(JSON.parse(other.content[0].text)).to.deep.equal(['user: history'])
      expect(idIn(other)).to.not.equal(conversation_id)
    })

    it('see only their own', async () => {
      const more = { 'agents/other.yml': 'id: other\nconversation: true\nmodules: [{ id: main, module: act }]' }
      const { call } = await makeMcp({}, more)
      const conversation_id = idIn((await call('guide', { message: 'say secret' })).result)
      for (const [name, id] of [
        ['other', conversation_id],
        ['guide', '00000000-0000-4000-8000-000000000000'],
      ] as const) {
        const { error } = await call(name, { message: 'history', conversation_id: id })
        expect(error).to.deep.equal({
          code: -32602,
          message: 'Invalid params: conversation_id is unknown, or was forgotten',
        })
      }
      expect((await call('guide', { message: 'x', conversation_id: 7 })).error.message).to.match(/must be a string/)
    })

    it('are limited in size', async () => {
      const { call } = await makeMcp({ maxHistoryMb: 1 })
      const long = 'x'.repeat(300_000)
      const conversation_id = idIn((await call('guide', { message: `say ${long}` })).result)
      const { error } = await call('guide', { message: 'history', conversation_id })
      expect(error).to.deep.equal({
        code: -32602,
        message: 'Invalid params: The conversation has more than 1 MiB, the limit of --max-history-mb',
      })
    })

    it('are off by default', async () => {
      const { call } = await makeMcp()
      const { result } = await call('act', { message: 'say x', conversation_id: 'any' })
      expect(result.content).to.deep.equal([{ type: 'text', text: 'x' }])
    })
  })

  it('return images, audio and files in a form that the client knows', async () => {
    const { call } = await makeMcp()
    const contentFor = async (version?: string) => {
      const headers: Record<string, string> = version ? { 'mcp-protocol-version': version } : {}
      return (await call('act', { message: 'attach' }, headers)).result.content
    }
    const text = { type: 'text', text: 'see' }
    const image = { type: 'image', data: 'AQID', mimeType: 'image/png' }
    const audio = { type: 'audio', data: 'BA==', mimeType: 'audio/wav' }
    const resource = (uri: string, mimeType: string, blob: string) => ({
      type: 'resource',
      resource: { uri, mimeType, blob },
    })
    const file = resource('attachment:///a%20b.csv', 'text/csv', 'BQ==')
    const link = { type: 'resource_link', uri: 'https://example.test/x.png', name: 'x', mimeType: 'image/png' }
    const linkText = { type: 'text', text: '![x](https://example.test/x.png)' }
    expect(await contentFor('2025-11-25')).to.deep.equal([text, image, audio, file, link])
    expect(await contentFor()).to.deep.equal([text, image, audio, file, linkText])
    const sound = resource('attachment:///attachment-2', 'audio/wav', 'BA==')
    expect(await contentFor('2024-11-05')).to.deep.equal([text, image, sound, file, linkText])
  })

  it('return a file whose name has half a surrogate pair', async () => {
    const { call } = await makeMcp(
      {},
      {
        'agents/filer.yml': 'id: filer\nmodules: [{ id: main, module: filer }]',
        'modules/filer.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Filer', provides: [TextMessageHandler], uses: { response: Response }, create: ({ response }) => ({
  handleText: () => response.respondFile({ mediaType: 'text/csv', data: new Uint8Array([5]), name: '\\ud83d.csv' }) }) })`,
      },
    )
    const { content } = (await call('filer', { message: 'x' })).result
    expect(content[1].resource.uri).to.equal('attachment:///%EF%BF%BD.csv')
  })
})
