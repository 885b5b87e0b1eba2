import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { closeServers, makeServer } from '../../support/server.ts'

describe('the files of the debug UI', () => {
  afterEach(closeServers)

  async function open() {
    const { app } = await makeServer({ adapters: ['UiApiAdapter'] })
    return (url: string, encoding?: string, method: 'GET' | 'HEAD' = 'GET') =>
      app.inject({ method, url, headers: encoding === undefined ? {} : { 'accept-encoding': encoding } })
  }

  it('come compressed as the client accepts it', async () => {
    const get = await open()
    const plain = await get('/')
    expect(plain.headers).to.include({ 'content-type': 'text/html; charset=utf-8', vary: 'Origin, accept-encoding' })
    expect(plain.headers).to.not.have.property('content-encoding')
    const brotli = await get('/', 'gzip, deflate, br;q=1.0')
    expect(brotli.headers['content-encoding']).to.equal('br')
    expect(brotliDecompressSync(brotli.rawPayload).toString()).to.equal(plain.body)
    const gzip = await get('/', 'gzip;q=0.8, br;q=0')
    expect(gzip.headers['content-encoding']).to.equal('gzip')
    expect(gunzipSync(gzip.rawPayload).toString()).to.equal(plain.body)
  })

  it('are kept where their name contains a hash, and checked again otherwise', async () => {
    const get = await open()
    const { body, headers } = await get('/')
    expect(headers['cache-control']).to.equal('no-cache')
    expect(headers['content-security-policy']).to.include("default-src 'none'")
    const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(body) ?? []
    const asset = await get(script as string, undefined, 'HEAD')
    expect(asset.statusCode).to.equal(200)
    expect(asset.headers).to.include({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
  })

  it('are validated by their bytes: what a client has already is not sent again', async () => {
    const { app } = await makeServer({ adapters: ['UiApiAdapter'] })
    const get = (headers: Record<string, string>, url = '/') => app.inject({ method: 'GET', url, headers })
    const encodings = ['identity', 'gzip', 'br']
    const tags = await Promise.all(
      encodings.map(async (encoding) => String((await get({ 'accept-encoding': encoding })).headers.etag)),
    )
    for (const tag of tags) expect(tag).to.match(/^"[\w-]{27}"$/)
    expect(new Set(tags).size).to.equal(3)
    const [plain = '', , brotli = ''] = tags
    for (const known of [plain, `W/${plain}`, `"other", ${plain}`, '*']) {
      const { statusCode, body, headers } = await get({ 'if-none-match': known })
      expect([known, statusCode, body]).to.deep.equal([known, 304, ''])
      expect(headers).to.include({ etag: plain, 'cache-control': 'no-cache', vary: 'Origin, accept-encoding' })
      expect(headers).to.not.have.any.keys('content-type', 'content-encoding')
    }
    const changed = await get({ 'if-none-match': brotli })
    expect([changed.statusCode, changed.body]).to.deep.equal([200, (await get({})).body])
    const [, script = ''] = /src="\.(\/assets\/[^"]+\.js)"/.exec(changed.body) ?? []
    const { etag } = (await get({}, script)).headers
    expect((await get({ 'if-none-match': String(etag) }, script)).statusCode).to.equal(304)
  })

  it('are those of the folder, and nothing beside or outside it', async () => {
    const get = await open()
    for (const url of ['/assets/', '/index.html.br', '/assets/none.js', '/..%2fpackage.json']) {
      expect([url, (await get(url)).statusCode]).to.deep.equal([url, 404])
    }
  })
})
