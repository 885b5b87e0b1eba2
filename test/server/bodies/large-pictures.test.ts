import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import type { Json } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'

/** `look` tells the type, the size and a digest of the pictures that it is shown, and of those before. */
const FILES = {
  'agents/look.yml': 'id: look\nmodules: [{ id: main, module: look }]',
  'modules/look.ts': `import { createHash } from 'node:crypto'
import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 8)
export default defineModule({ name: 'Look', provides: [TextMessageHandler], attachments: ['image/*'],
  uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text) {
    const attachments = (await history.getHistory()).flatMap((message) => message.attachments ?? [])
    const seen = attachments.map(({ mediaType, data }) => [mediaType, data.length, digest(data)].join(' '))
    await response.respondText([text.length, ...seen].join(', '))
  } }) })`,
}
const PICTURE = randomBytes(1024 * 1024 + 1)
const SEEN = `image/png ${PICTURE.length} ${createHash('sha256').update(PICTURE).digest('hex').slice(0, 8)}`
const URL_OF_PICTURE = `data:image/png;base64,${PICTURE.toString('base64')}`
const JSON_TYPE = { 'content-type': 'application/json' }

const asChat = (url: string, more: object = {}) => ({
  model: 'look',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ],
  ...more,
})
const asInput = (image_url: string) => [
  {
    role: 'user',
    content: [
      { type: 'input_text', text: 'hi' },
      { type: 'input_image', image_url },
    ],
  },
]

describe('a large picture', () => {
  afterEach(closeServers)

  async function listen(options: object = {}) {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
    const server = await makeServer({ adapters, ...options }, FILES)
    const url = await server.listen()
    return async (path: string, body?: unknown, headers: object = JSON_TYPE) => {
      const isSent = body !== undefined
      const text = typeof body === 'object' && !(body instanceof ReadableStream) ? JSON.stringify(body) : body
      const init = { method: 'POST', body: text, headers, duplex: 'half' } as RequestInit
      const response = await fetch(`${url}${path}`, isSent ? init : {})
      return { status: response.status, body: (await response.json()) as Json }
    }
  }

  it('reaches an agent whole, over chat and over responses, also as the string that some clients send', async () => {
    const ask = await listen()
    const chat = await ask('/v1/chat/completions', asChat(URL_OF_PICTURE))
    expect(chat.body.choices[0].message.content).to.equal(`2, ${SEEN}`)
    const plain = JSON.stringify(asChat('x')).replace('{"url":"x"}', `"${URL_OF_PICTURE}"`)
    expect((await ask('/v1/chat/completions', plain)).body.choices[0].message.content).to.equal(`2, ${SEEN}`)
    const unstored = await ask('/v1/responses', { model: 'look', store: false, input: asInput(URL_OF_PICTURE) })
    expect(unstored.body.output[0].content[0].text).to.equal(`2, ${SEEN}`)
  })

  it('is stored and given back as it was sent, and is there in the next turn', async () => {
    const ask = await listen()
    const first = await ask('/v1/responses', { model: 'look', input: asInput(URL_OF_PICTURE), metadata: { a: 'b' } })
    const { data } = (await ask(`/v1/responses/${first.body.id}/input_items`)).body
    expect(data[0].content[1]).to.deep.equal({ type: 'input_image', image_url: URL_OF_PICTURE })
    const second = await ask('/v1/responses', { model: 'look', input: 'more', previous_response_id: first.body.id })
    expect(second.body.output[0].content[0].text).to.equal(`4, ${SEEN}`)
  })

  it('may come in a body of unknown length, whose limit holds', async () => {
    const ask = await listen({ bodyLimit: 2 * 1024 * 1024 })
    const stream = (body: object) => Readable.toWeb(Readable.from(pieces(JSON.stringify(body))))
    const { body } = await ask('/compat/chat/completions', stream(asChat(URL_OF_PICTURE)))
    expect(body.choices[0].message.content).to.equal(`2, ${SEEN}`)
    const twice = asChat(URL_OF_PICTURE, { metadata: { more: URL_OF_PICTURE } })
    const tooLarge = { status: 413, body: { detail: 'The body is too large' } }
    const refused = await ask('/compat/chat/completions', stream(twice)).catch(
      ({ cause }: Error) => cause as { code: string },
    )
    // Nobody knows how much is to come, so the connection is closed: a client that is still sending may not read why.
    if ('code' in refused) expect(refused.code).to.match(/EPIPE|ECONNRESET|UND_ERR_SOCKET/)
    else expect(refused).to.deep.equal(tooLarge)
    for (let round = 0; round < 3; round++) {
      expect(await ask('/compat/chat/completions', twice)).to.deep.equal(tooLarge)
    }
  })

  it('may end in what is no base64, as a small one may: it is read up to there', async () => {
    const ask = await listen()
    const small = 'data:image/png;base64,AAAA'
    for (const url of [small, URL_OF_PICTURE]) {
      const replies = await Promise.all([url, `${url}!!`].map((sent) => ask('/v1/chat/completions', asChat(sent))))
      const [whole, odd] = replies.map(({ status, body }) => [status, body.choices[0].message.content])
      expect(odd).to.deep.equal(whole)
      expect(whole?.[0]).to.equal(200)
    }
  })

  it('opens no way around the checks of a body', async () => {
    const ask = await listen()
    const refusal = async (body: string) => (await ask('/compat/chat/completions', body)).body.detail
    const valid = JSON.stringify(asChat(URL_OF_PICTURE))
    const invalid = /^The body is not valid JSON/
    expect(await refusal(valid.replace('"hi"', '{"__proto__":{"a":1}}'))).to.match(/'__proto__'/)
    expect(await refusal(valid.slice(0, -1))).to.match(invalid)
    expect(await refusal(valid.replace('data:image/png', 'file:image/png'))).to.equal(
      'messages[0].content[1].image_url.url must be an http(s) URL, or a data URL in base64',
    )
    expect(await refusal(valid.replace('"user"', '"nobody"'))).to.match(/^messages\[0\].role must be/)
  })
})

function* pieces(text: string) {
  for (let start = 0; start < text.length; start += 100_000) yield text.slice(start, start + 100_000)
}
