import { expect } from 'chai'
import { startCollector } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { filesWith } from '../support/files-with.ts'
import { OAuthServer, signInAgent } from '../support/oauth-server.ts'
import type { Json } from '../support/responses.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

describe('a sign-in under dev, with tracing and recording', () => {
  afterEach(killRunning)

  it('leaves no token and no code verifier in files, output or spans', async () => {
    const [issues, collector] = await Promise.all([OAuthServer.start(), startCollector()])
    const { dir } = await makeProject(signInAgent(issues.url))
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
    const dev = startCli(['dev', '--port', '0', '--log-level', 'trace'], { cwd: dir, env })
    const [, url = ''] = await dev.printed(/ready at (http:\S+)/)
    const send = async (path: string, body?: object): Promise<Json> => {
      const init = body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }
      const reply = await fetch(`${url}/compat/${path}`, init)
      expect(reply.status, path).to.equal(200)
      return reply.json()
    }
    await send('responses', { model: 'desk', input: 'sign_in_issues' })
    const [question] = (await send('approvals')).data
    const { search } = await issues.signIn(question.url)
    const { continued_by: next } = await send('approvals/callback', { query: search.slice(1) })
    await eventually(async () => expect((await send(`responses/${next}`)).status).to.equal('completed'))
    issues.expire()
    const counted = await send('responses', { model: 'desk', input: 'count_issues' })
    expect(JSON.stringify(counted.output)).to.contain('42 issues')
    await dev.stop('SIGTERM')
    const secrets = [...issues.issued, ...issues.verifiers]
    expect(secrets).to.have.length(5)
    // The calls themselves are there.
    expect(filesWith(`${dir}/debug`, 'sign_in_issues').length).to.be.above(1)
    expect(collector.text()).to.contain('sign_in_issues')
    for (const secret of secrets) {
      expect(filesWith(dir, secret)).to.deep.equal([])
      expect(collector.text() + dev.output()).to.not.contain(secret)
    }
    await Promise.all([issues.close(), collector.stop()])
  })
})
