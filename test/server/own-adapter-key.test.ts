import { HostError } from 'agent-host'
import { expect } from 'chai'
import { closeServers, makeServer } from '../support/server.ts'

const KEY = 'key-of-the-notes-1'
const FILES = {
  'adapters/notes.ts': `import { Type } from 'agent-host'
export class NotesAdapter {
  static readonly key = { header: 'x-api-key', variable: 'NOTES_API_KEY' }
  static readonly config = Type.Object({ title: Type.String({ default: 'Notes' }) }, { additionalProperties: false })
  #options
  constructor(options) { this.#options = options }
  adapt(app) {
    const { config, redact } = this.#options
    app.get('/notes', ({ headers }) => ({ seen: [headers['x-api-key'] ?? null, headers.authorization ?? null], config, redacted: redact('${KEY}') }))
  }
}`,
}
const NOTES = 'adapters.notes.NotesAdapter'
const OWN_KEY = { adapterOptions: { NotesAdapter: { api_key: KEY } } }

describe('the key of an adapter of its own', () => {
  afterEach(closeServers)

  it('opens its door by header and as a bearer, and the adapter sees neither', async () => {
    const { app } = await makeServer({ adapters: [NOTES], ...OWN_KEY }, FILES)
    const seen = { seen: [null, null], config: { title: 'Notes' }, redacted: '[redacted]' }
    const get = (headers: Record<string, string>) => app.inject({ url: '/notes', headers })
    expect((await get({ 'x-api-key': KEY })).json()).to.deep.equal(seen)
    expect((await get({ authorization: `bearer  ${KEY}` })).json()).to.deep.equal(seen)
    expect((await get({ 'x-api-key': KEY, authorization: `Bearer ${KEY}` })).json()).to.deep.equal(seen)
    const wrong = [{}, { 'x-api-key': 'another-key' }, { authorization: 'Bearer another-key' }]
    expect(await Promise.all(wrong.map(async (headers) => (await get(headers as never)).statusCode))).to.deep.equal([
      401, 401, 401,
    ])
    expect((await app.inject(`/notes?x-api-key=${KEY}`)).statusCode).to.equal(401)
  })

  it('is refused beside another credential, on an open adapter too', async () => {
    const { app } = await makeServer({ adapters: [NOTES] }, FILES)
    const headers = { 'x-api-key': KEY, authorization: 'Bearer another-key' }
    const { statusCode, body } = await app.inject({ url: '/notes', headers })
    expect([statusCode, JSON.parse(body)]).to.deep.equal([
      401,
      { detail: 'The headers x-api-key and Authorization hold two different credentials' },
    ])
    const open = await app.inject({ url: '/notes', headers: { 'x-api-key': KEY } })
    expect(open.json()).to.deep.include({ seen: [null, null] })
  })

  it('comes from its variable, and is named where it is missing beside a key of another adapter', async () => {
    const adapters = [NOTES, 'ChatCompatApiAdapter']
    const compatApiKey = 'key-of-the-chat-1'
    process.env.NOTES_API_KEY = KEY
    try {
      const { app } = await makeServer({ adapters, compatApiKey, requireAuth: true }, FILES)
      expect((await app.inject('/notes')).statusCode).to.equal(401)
    } finally {
      delete process.env.NOTES_API_KEY
    }
    const refused = await makeServer({ adapters, compatApiKey, requireAuth: true }, FILES).catch((error) => error)
    expect(refused).to.be.instanceOf(HostError)
    expect([refused.message, refused.suggestions]).to.deep.equal([
      'ChatCompatApiAdapter requires a key, and NotesAdapter requires no key; --require-auth does not allow that.',
      ['Close it with NOTES_API_KEY=$(openssl rand -hex 32) agent-host serve ...'],
    ])
  })

  it('must be a text', async () => {
    const wrong = { adapterOptions: { NotesAdapter: { api_key: 5 } } }
    const error = await makeServer({ adapters: [NOTES], ...wrong }, FILES).catch((thrown) => thrown)
    expect(error.message).to.equal('Options of NotesAdapter: api_key must be a text.')
  })
})
