import { existsSync, readFileSync } from 'node:fs'
import { openProject } from 'agent-host'
import { expect } from 'chai'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { CASHIER, HISTORIES, LEDGERS, LOOK } from '../../support/cashier.ts'
import { eventually } from '../../support/eventually.ts'
import { readAsItComes } from '../../support/read-stream.ts'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { HEADERS, startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const BASES = ['/compat', '/v1'] as const
const ENDED = ['completed', 'failed', 'cancelled', 'incomplete']

describe('the history after a run that did not end well has what its tools did', function () {
  this.timeout(60_000)
  afterEach(closeServers)
  afterEach(killRunning)

  async function makeCashier(options: object = {}, files: Readonly<Record<string, string>> = CASHIER) {
    const server = await makeResponses(options, files)
    const { app, project } = server
    const post = async (path: string, payload: object) => {
      const url = path.startsWith('/') ? path : `/${path}`
      return app.inject({ method: 'POST', url, payload })
    }
    const ledger = () => ledgerOf(project.dir)
    /** Asks the agent to show its history, which is to be that of a script. */
    const expectHistory = async (script: string, after: object) => {
      const next = (await post('/compat/responses', { model: 'cashier', input: 'show', ...after })).json()
      expect(JSON.parse(textOf(next))).to.deep.equal(HISTORIES[script])
      expect(ledger()).to.equal(LEDGERS[script])
    }
    const whenPaid = (script: string) => eventually(() => expect(ledger()).to.equal(LEDGERS[script]))
    return { ...server, post, expectHistory, whenPaid }
  }

  for (const base of BASES) {
    for (const script of ['fail', 'hang', 'both'] as const) {
      const how = script === 'fail' ? 'fails' : `is cancelled (${script})`
      it(`${base}, in the background: it ${how}`, async () => {
        const { post, whenPaid, whenEnded, expectHistory } = await makeCashier()
        const body = { model: 'cashier', input: script, background: true }
        const { id } = (await post(`${base}/responses`, body)).json()
        await whenPaid(script)
        if (script !== 'fail') await post(`${base}/responses/${id}/cancel`, {})
        await whenEnded(id)
        await expectHistory(script, { previous_response_id: id })
      })

      if (script === 'fail') continue
      it(`${base}, streamed: its client leaves (${script})`, async () => {
        const { listen, whenPaid, whenEnded, expectHistory } = await makeCashier()
        const { id, leave } = await openResponse(`${await listen()}${base}`, { input: script })
        await whenPaid(script)
        leave()
        await whenEnded(id)
        await expectHistory(script, { previous_response_id: id })
      })
    }

    it(`${base}, plain: it fails`, async () => {
      const { post, expectHistory } = await makeCashier()
      const reply = await post(`${base}/responses`, { model: 'cashier', input: 'fail' })
      expect(reply.statusCode).to.equal(500)
      await expectHistory('fail', { previous_response_id: reply.headers['x-response-id'] })
    })

    it(`${base}, streamed: it fails`, async () => {
      const { post, expectHistory } = await makeCashier()
      const { body } = await post(`${base}/responses`, { model: 'cashier', input: 'fail', stream: true })
      expect(body).to.include('"type":"response.failed"')
      await expectHistory('fail', { previous_response_id: idIn(body) })
    })

    it(`${base}, plain in a conversation: its client leaves`, async () => {
      const { listen, post, whenPaid, expectHistory } = await makeCashier()
      const { id: conversation } = (await post(`${base}/conversations`, {})).json()
      const leaving = new AbortController()
      const body = JSON.stringify({ model: 'cashier', input: 'hang', conversation })
      const headers = { 'content-type': 'application/json' }
      const asked = fetch(`${await listen()}${base}/responses`, {
        method: 'POST',
        headers,
        body,
        signal: leaving.signal,
      })
      asked.catch(() => {})
      await whenPaid('hang')
      leaving.abort()
      await eventually(() => expectHistory('hang', { conversation }))
    })
  }

  it('over a WebSocket: it fails, or its client leaves', async () => {
    for (const script of ['fail', 'hang']) {
      const { listen, whenPaid, whenEnded, expectHistory } = await makeCashier()
      const client = await openSocket(await listen())
      client.send({ type: 'response.create', model: 'cashier', input: script })
      const { response } = await client.next()
      await whenPaid(script)
      if (script === 'hang') client.socket.close()
      await whenEnded(response.id)
      await expectHistory(script, { previous_response_id: response.id })
      client.socket.close()
    }
  })

  it('of a run of another adapter: it fails, or is cancelled', async () => {
    for (const script of ['fail', 'hang']) {
      const { dir } = await makeProject(CASHIER)
      const project = await openProject({ projectDir: dir, logLevel: 'silent' })
      const runs = project.runs.of('')
      const start = (content: string, more: object = {}) =>
        runs.start({ agent: 'cashier', messages: [{ role: 'user', content }], ...more })
      const { id } = await start(script)
      await eventually(() => expect(ledgerOf(dir)).to.equal(LEDGERS[script]))
      if (script === 'hang') await runs.cancel(id)
      await runs.outcome(id).catch(() => {})
      const next = await start('show', { previousId: id })
      expect(JSON.parse((await runs.outcome(next.id)).text)).to.deep.equal(HISTORIES[script])
      expect(ledgerOf(dir)).to.equal(LEDGERS[script])
      await project.close()
    }
  })

  it('of a run that a client joined with its output: that is part of it, and nothing is open', async () => {
    const { post, listen, whenPaid, whenEnded, expectHistory } = await makeCashier()
    const waiting = (await post('/compat/responses', { model: 'cashier', input: 'look', tools: [LOOK] })).json()
    const input = [{ type: 'function_call_output', call_id: 'c1', output: 'a cat' }]
    const body = { input, tools: [LOOK], previous_response_id: waiting.id }
    const { id, leave } = await openResponse(`${await listen()}/compat`, body)
    await whenPaid('look')
    leave()
    await whenEnded(id)
    await expectHistory('look', { previous_response_id: id })
  })

  it('of a run that went on after a decision: the call is not open again', async () => {
    const { post, app, whenEnded, expectHistory } = await makeCashier()
    await post('/compat/responses', { model: 'cashier', input: 'refund' })
    const [approval] = (await app.inject('/compat/approvals')).json().data
    const decided = (await post(`/compat/approvals/${approval.id}`, { decision: 'approve' })).json()
    await whenEnded(decided.continued_by)
    await expectHistory('refund', { previous_response_id: decided.continued_by })
  })

  it('costs a response without calls nothing: it is stored once', async () => {
    const { post } = await makeCashier()
    const { commit } = SqliteStore.prototype
    const commits: string[] = []
    SqliteStore.prototype.commit = function (changes, ...rest) {
      if (changes.some(([key]) => /^(response|steps):/.test(key))) commits.push(String(changes.length))
      return commit.call(this, changes, ...rest)
    }
    try {
      const counts: number[] = []
      for (const input of ['show', 'fail']) {
        await post('/compat/responses', { model: 'cashier', input })
        counts.push(commits.splice(0).length)
      }
      // With a call: before it begins, and at the end; between them with the result, unless the model answers at once.
      expect([counts[0], counts[1] === 2 || counts[1] === 3]).to.deep.equal([1, true])
    } finally {
      SqliteStore.prototype.commit = commit
    }
  })

  for (const way of ['plain', 'streamed', 'background'] as const) {
    const more = way === 'plain' ? {} : way === 'streamed' ? { stream: true } : { background: true }
    it(`${way}: the server shuts down`, async () => {
      const { listen, close, whenPaid, project } = await makeCashier({ responsesApiKey: 'key-1234' })
      const url = `${await listen()}/compat/responses`
      void fetch(url, {
        method: 'POST',
        headers: HEADERS,
        body: JSON.stringify({ model: 'cashier', input: 'hang', ...more }),
      })
        .then((reply) => reply.text())
        .catch(() => {})
      await whenPaid('hang')
      const [id] = ((await (await fetch(url, { headers: HEADERS })).json()) as Json).data.map(({ id }: Json) => id)
      await close()
      const again = await makeResponses({ projectDir: project.dir })
      expect((await again.get(id)).status).to.equal('failed')
      const next = await again.create('show', { model: 'cashier', previous_response_id: id })
      expect(JSON.parse(textOf(next))).to.deep.equal(HISTORIES.hang)
      expect(ledgerOf(project.dir)).to.equal('pay 5\npay 6\n')
    })

    for (const script of ['hang', 'both']) {
      it(`${way}: the server is killed (${script})`, async () => {
        const { dir } = await makeProject(CASHIER)
        const first = await startResponses(dir)
        void first.ask('', { model: 'cashier', input: script, ...more }).catch(() => {})
        await eventually(() => expect(ledgerOf(dir)).to.equal('pay 5\npay 6\n'))
        const [{ id }] = (await first.ask('')).json.data
        await first.stop('SIGKILL')
        const second = await startResponses(dir)
        await eventually(async () => expect((await second.ask(`/${id}`)).json.status).to.be.oneOf(ENDED))
        const { json } = await second.ask('', { model: 'cashier', input: 'show', previous_response_id: id })
        expect(JSON.parse(textOf(json))).to.deep.equal(HISTORIES[script])
        expect(ledgerOf(dir)).to.equal('pay 5\npay 6\n')
      })
    }
  }
})

/** Begins a streamed response. Returns its id, and a way to leave. */
async function openResponse(url: string, body: object) {
  const leaving = new AbortController()
  const reply = await fetch(`${url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'cashier', stream: true, ...body }),
    signal: leaving.signal,
  })
  const { text } = readAsItComes(reply)
  const id = await eventually(() => {
    const found = idIn(text())
    expect(found).to.be.a('string')
    return found
  })
  return { id: String(id), leave: () => leaving.abort() }
}

function idIn(text: string): string | undefined {
  return /resp_[\w-]+/.exec(text)?.[0]
}

function ledgerOf(dir: string): string {
  return existsSync(`${dir}/ledger.txt`) ? readFileSync(`${dir}/ledger.txt`, 'utf8') : ''
}
