import { once } from 'node:events'
import { get } from 'node:http'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { OAuthServer, signInAgent } from '../support/oauth-server.ts'
import { killRunning, startCli } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

describe('mcp login', () => {
  let issues: OAuthServer
  beforeEach(async () => {
    issues = await OAuthServer.start()
  })
  afterEach(() => {
    killRunning()
    return issues.close()
  })

  it('signs in by the browser, for a server that runs later', async () => {
    const { dir } = await makeProject(signInAgent(issues.url))
    const login = startCli(['mcp', 'login', 'issues'], { cwd: dir })
    const [, address = ''] = await login.printed(/^ {2}(http:\S+)$/m)
    const back = await issues.signIn(address)
    const stray = await fetch(`${back.origin}/oauth/callback?state=other&code=1`)
    expect([stray.status, await stray.text()]).to.deep.equal([404, 'No sign-in waits for this answer.'])
    const [odd] = await once(get({ port: back.port, path: '//', host: back.hostname }), 'response')
    expect(odd.statusCode).to.equal(404)
    expect(await (await fetch(back)).text()).to.equal('Done. You can close this window.')
    await login.printed(/^desk: Signed in to 'issues'\. Its tools: count_issues\.$/m)
    expect((await callCli(['tool', 'count_issues'], { cwd: dir })).stdout).to.equal('42 issues\n')
    expect((await callCli(['mcp', 'login', 'issues'], { cwd: dir })).stdout).to.equal(
      "desk: Signed in to 'issues'. Its tools: count_issues.\n",
    )
  })

  it('names the servers that can be signed in to', async () => {
    const { dir } = await makeProject(signInAgent(issues.url))
    const { exitCode, stderr } = await callCli(['mcp', 'login', 'isues'], { cwd: dir })
    expect(exitCode).to.equal(2)
    expect(stderr).to.include("No agent has an MCP server 'isues' with oauth.").and.include("Did you mean 'issues'?")
  })
})
