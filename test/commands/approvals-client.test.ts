import { expect } from 'chai'
import { ApprovalsClient } from '../../src/commands/approvals/approvals-client.ts'
import type { Send } from '../../src/commands/server/server-client.ts'

describe('the client of approvals', () => {
  it('says what to do when the server hides them at its name, wants a key, or has none', async () => {
    const failure = async (status: number, body: object) => {
      const error = await new ApprovalsClient({}, async () => Response.json(body, { status })).list().catch((e) => e)
      return [error.message, error.suggestions]
    }
    const hidden = { object: 'list', data: [{ id: null, agent: 'shop', name: 'pay' }], has_more: false }
    expect(await failure(200, hidden)).to.deep.equal([
      'The server does not show approvals at the name 127.0.0.1.',
      ['Start it with --allowed-host 127.0.0.1, or send a key with the scope approve: --api-key.'],
    ])
    expect(await failure(401, { detail: 'Invalid API key' })).to.deep.equal([
      'Invalid API key.',
      ['Send a key of its responses adapter: --api-key <key>.'],
    ])
    expect(await failure(404, { detail: 'Not Found' })).to.deep.equal([
      'The server at http://127.0.0.1 has no approvals.',
      ['They belong to its responses adapter: start it with --adapter ResponsesCompatApiAdapter.'],
    ])
    // Another program, which answers any path.
    const other = new ApprovalsClient({}, async () => new Response('<!doctype html>'))
    for (const client of [other, new ApprovalsClient({}, async () => Response.json({ ok: true }))]) {
      const { message } = await client.find('019a').catch((e) => e)
      expect(message).to.equal('The server at http://127.0.0.1 has no approvals.')
    }
  })

  it('takes an id without a character of its own for no approval, even where one waits alone', async () => {
    const asked: string[] = []
    const client = new ApprovalsClient({}, async (url) => {
      asked.push(new URL(url).pathname)
      const isList = url.includes('?')
      return Response.json(isList ? { data: [{ id: 'mcpr_019a' }], has_more: false } : {}, {
        status: isList ? 200 : 404,
      })
    })
    expect((await client.find('019')).id).to.equal('mcpr_019a')
    for (const prefix of ['', 'mcpr_']) {
      const { code, message } = await client.find(prefix).catch((e) => e)
      expect([code, message]).to.deep.equal(['OPTION_INVALID', 'The id of the approval is empty. Nothing was decided.'])
    }
    for (const prefix of ['m', 'mcpr', ' ']) {
      const { message } = await client.find(prefix).catch((e) => e)
      expect(message).to.equal(`No pending approval begins with '${prefix}'.`)
    }
    expect(asked.filter((path) => path !== '/compat/approvals')).to.deep.equal([
      '/compat/approvals/m',
      '/compat/approvals/mcpr',
      '/compat/approvals/%20',
    ])
  })

  it('reads every page of a long list', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => `mcpr_${index}`)
    const send: Send = async (url) => {
      const { searchParams } = new URL(url)
      const first = ids.indexOf(searchParams.get('after') ?? '') + 1
      const data = ids.slice(first, first + Number(searchParams.get('limit'))).map((id) => ({ id }))
      return Response.json({ object: 'list', data, has_more: first + data.length < ids.length })
    }
    const found = await new ApprovalsClient({}, send).list()
    expect(found.map(({ id }) => id)).to.deep.equal(ids)
  })
})
