import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import openai from '../../../modules/embedder/openai.ts'
import { describeEmbedder } from '../../suites/embedder-suite.ts'
import { makeContext, makeRun } from '../../support/fake-run.ts'

const KEY = 'sk-very-secret-key'

interface Asked {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: { input: string[]; model: string; dimensions?: number; encoding_format: string }
}
type Answer = (response: ServerResponse, asked: Asked) => void

const json = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Vectors that tell which text they belong to; listed in the wrong order, as the index allows. */
const vectors: Answer = (response, { body }) => {
  const data = body.input.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: [text.length, text.charCodeAt(0) || 0, 1],
  }))
  json(response, 200, {
    object: 'list',
    data: data.reverse(),
    model: body.model,
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
}
const fails =
  (status: number, message: string, headers = {}): Answer =>
  (response) =>
    json(response, status, { error: { message, type: 'x', code: null } }, headers)

const open: (() => void)[] = []

/** An embedder, and the API that it asks: each request gets the next of the answers, the last one again and again. */
async function makeEmbedder(answers: Answer[] = [vectors], config: object = {}) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const received = { path: request.url, authorization: request.headers.authorization, body: JSON.parse(text) }
    asked.push(received)
    answers[Math.min(asked.length, answers.length) - 1]?.(response, received)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const base_url = `${origin}/v1/`
  const settings = {
    base_url,
    model: 'm',
    headers: {},
    api_key: KEY,
    batch_size: 128,
    max_retries: 2,
    timeout: 5,
    ...config,
  }
  return { embedder: await openai.create({}, settings, makeContext()), asked, origin }
}

async function failureOf(answers: Answer[], config: object = {}, run = makeRun()): Promise<string> {
  const { embedder } = await makeEmbedder(answers, config)
  return embedder.embed(['a'], run).then(
    () => 'It did not fail.',
    (error: Error) => error.message,
  )
}

describe('embedder/openai', () => {
  afterEach(() => {
    for (const close of open.splice(0)) close()
  })

  describeEmbedder(async () => (await makeEmbedder()).embedder)

  it('sends the wire format and the key, and reports the tokens', async () => {
    const { embedder, asked } = await makeEmbedder([vectors], { dimensions: 3 })
    const run = makeRun()
    expect(await embedder.embed(['b', 'aa'], run)).to.deep.equal([Float32Array.of(1, 98, 1), Float32Array.of(2, 97, 1)])
    expect(asked).to.deep.equal([
      {
        path: '/v1/embeddings',
        authorization: `Bearer ${KEY}`,
        body: { model: 'm', encoding_format: 'float', dimensions: 3, input: ['b', 'aa'] },
      },
    ])
    expect(run.usage).to.deep.equal([{ inputTokens: 4 }])
  })

  it('sends batches, and no credentials without a key', async () => {
    const { embedder, asked } = await makeEmbedder([vectors], { batch_size: 2, api_key: '' })
    const lengths = (await embedder.embed(['a', 'bb', 'ccc', 'dddd', 'eeeee'], makeRun())).map(([length]) => length)
    expect(lengths).to.deep.equal([1, 2, 3, 4, 5])
    expect(asked.map(({ body }) => body.input.length)).to.deep.equal([2, 2, 1])
    expect(asked[0]?.authorization).to.equal(undefined)
  })

  it('retries after a temporary failure, with the delay that the server requests', async () => {
    const { embedder, asked } = await makeEmbedder([
      fails(429, 'slow down', { 'retry-after': '0.05' }),
      fails(503, 'busy', { 'retry-after': '0.05' }),
      vectors,
    ])
    expect(await embedder.embed(['a'], makeRun())).to.have.length(1)
    expect(asked).to.have.length(3)
  })

  it('takes a timeout with a fraction of a millisecond', async () => {
    const { embedder } = await makeEmbedder([vectors], { timeout: 16.1 })
    expect(await embedder.embed(['a'], makeRun())).to.have.length(1)
  })

  it('gives up after max_retries, and at once on a permanent failure', async () => {
    expect(await failureOf([fails(503, 'busy')], { max_retries: 0 })).to.match(
      /^The model 'm' at http:.* answered 503: busy$/,
    )
    const { embedder, asked } = await makeEmbedder([fails(400, 'no such model')])
    const failure = await embedder.embed(['a'], makeRun()).catch((error: Error) => error.message)
    expect(failure).to.match(/answered 400: no such model$/)
    expect(asked).to.have.length(1)
  })

  it('shows no key in an error, even if the server echoes it or the URL contains one', async () => {
    expect(await failureOf([fails(401, `Incorrect key: ${KEY}`)])).to.match(
      /answered 401: Incorrect key: \[redacted\]$/,
    )
    const text: Answer = (response) => response.writeHead(403).end(`denied ${KEY}`)
    expect(await failureOf([text])).to.match(/answered 403: denied \[redacted\]$/)
    const unreachable = await failureOf([], { base_url: 'http://user:other-secret@127.0.0.1:1/v1', max_retries: 0 })
    expect(unreachable)
      .to.match(/^The model 'm' at http:\/\/127\.0\.0\.1:1\/v1 /)
      .and.not.to.contain('other-secret')
  })

  it('follows a redirect within the origin, but none to another one, which would get the key', async () => {
    const within: Answer = (response) => void response.writeHead(308, { location: '/v2/embeddings' }).end()
    const { embedder, asked } = await makeEmbedder([within, vectors])
    expect(await embedder.embed(['a'], makeRun())).to.have.length(1)
    expect(asked.map(({ path }) => path)).to.deep.equal(['/v1/embeddings', '/v2/embeddings'])
    const other = await makeEmbedder()
    for (const status of [302, 307, 308]) {
      const away: Answer = (response) => void response.writeHead(status, { location: `${other.origin}/x?key=y` }).end()
      const { embedder: leaving, asked } = await makeEmbedder([away])
      const failure = await leaving.embed(['a'], makeRun()).catch(({ message }: Error) => message)
      expect(failure).to.match(/^The model 'm' at \S+ cannot be used: the server redirects to /)
      expect(failure).to.contain(` ${other.origin}, which is not followed (${status})`)
      expect(asked).to.have.length(1)
    }
    expect(other.asked).to.deep.equal([])
  })

  it('rejects a malformed answer', async () => {
    const say =
      (data: unknown): Answer =>
      (response) =>
        void json(response, 200, { data })
    for (const data of [
      [],
      [{ index: 0, embedding: [] }],
      [{ index: 1, embedding: [1] }],
      [{ index: 0, embedding: 'AAAA' }],
      [null],
      'none',
    ]) {
      expect(await failureOf([say(data)])).to.contain('gave an answer that is not 1 vectors of one length')
    }
    expect(await failureOf([(response) => void response.end('<html>')])).to.contain(
      'is not 1 vectors of one length: <html>',
    )
  })

  it('ends when the run is aborted while waiting, and when the server stays silent', async () => {
    const silent: Answer = () => {}
    const run = makeRun()
    setTimeout(() => run.abort(new Error('enough')), 50)
    expect(await failureOf([silent], {}, run)).to.equal('enough')
    expect(await failureOf([silent], { timeout: 0.1 })).to.match(/said nothing for 0\.1 s\.$/)
    const waiting = makeRun()
    setTimeout(() => waiting.abort(new Error('enough')), 50)
    expect(await failureOf([fails(429, 'later', { 'retry-after': '20' })], {}, waiting)).to.equal('enough')
  })
})
