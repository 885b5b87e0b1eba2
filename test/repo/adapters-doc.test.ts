import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { closeServers, makeServer } from '../support/server.ts'

describe('docs/adapters.md', () => {
  afterEach(closeServers)

  it('shows an adapter that works', async () => {
    const text = readFileSync(new URL('../../docs/adapters.md', import.meta.url), 'utf8')
    const code = /```ts\n(.*?)```/s.exec(text)?.[1] ?? ''
    const { app } = await makeServer({ adapters: ['adapters.plain.PlainAdapter'] }, { 'adapters/plain.ts': code })
    const response = await app.inject({ method: 'POST', url: '/plain/echo', payload: { text: 'hi' } })
    expect(response.json()).to.deep.equal({ text: 'hi' })
  })
})
