import { expect } from 'chai'
import { describeWith } from '../../support/describe-with.ts'
import { eventually } from '../../support/eventually.ts'
import { filesWith } from '../../support/files-with.ts'
import { OAuthServer, signInAgent } from '../../support/oauth-server.ts'
import type { Json } from '../../support/responses.ts'
import { startResponses } from '../../support/responses-process.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { hasRedis, startRedis } from '../../support/store-servers.ts'
import { makeProject } from '../../support/temp-project.ts'
import { keysFile, Visitor } from '../../support/tenant-visitor.ts'

const KEYS = keysFile([
  { name: 'alice', tenant: 'acme', scopes: ['run', 'approve'] },
  { name: 'bob', tenant: 'globex', scopes: ['run', 'approve'] },
  { name: 'carol', tenant: 'acme', scopes: ['run'] },
])

describe('tools/mcp that wants a sign-in', () => {
  let issues: OAuthServer
  afterEach(async () => {
    await closeServers()
    await issues.close()
  })

  async function open(oauth?: string, options: object = {}, files: Readonly<Record<string, string>> = {}) {
    const server = await makeServer(
      {
        adapters: ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter'],
        publicUrl: 'https://agents.example',
        ...options,
      },
      { ...signInAgent(issues.url, oauth), ...files },
    )
    return { ...server, url: await server.listen() }
  }

  const ask = (visitor: Visitor, input: string) =>
    visitor.ask('POST', '/compat/responses', { model: 'desk', input }).then(({ json }) => json)
  const answerOf = (visitor: Visitor, id: string) =>
    visitor.ask('GET', `/compat/responses/${id}`).then(({ json }) => json)
  const waiting = async (visitor: Visitor): Promise<Json[]> => (await visitor.ask('GET', '/compat/approvals')).json.data
  const sendBack = (visitor: Visitor, { search }: URL) =>
    visitor.ask('POST', '/compat/approvals/callback', { query: search.slice(1) })
  const textOf = (response: Json) => response.output.at(-1)?.content?.[0]?.text

  async function settled(visitor: Visitor, id: string): Promise<Json> {
    for (;;) {
      const response = await answerOf(visitor, id)
      if (!['queued', 'in_progress'].includes(response.status)) return response
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** Signs in for a question that waits, and returns the answer of the run that goes on. */
  async function signIn(visitor: Visitor): Promise<Json> {
    const [question] = await waiting(visitor)
    const back = await issues.signIn(question?.url)
    const { status, json } = await sendBack(visitor, back)
    expect(status, JSON.stringify(json)).to.equal(200)
    return settled(visitor, json.continued_by)
  }

  it('asks for the sign-in with a link, goes on when the person comes back, and offers its tools then', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    expect(textOf(await ask(person, 'list'))).to.equal('sign_in_issues')
    await ask(person, 'sign_in_issues')
    const [question] = await waiting(person)
    expect(question).to.deep.include({ kind: 'question', name: 'sign_in_issues' })
    expect(question?.message).to.equal(`Sign in to 'issues' to go on: ${question?.url}`)
    const link = new URL(question?.url)
    expect(link.searchParams.get('code_challenge_method')).to.equal('S256')
    expect(link.searchParams.get('redirect_uri')).to.equal('https://agents.example/oauth/callback')
    const answer = await signIn(person)
    expect(textOf(answer)).to.equal("Signed in to 'issues'. Its tools: count_issues. | count_issues")
    expect(textOf(await ask(person, 'count_issues'))).to.equal('42 issues | count_issues')
    expect(issues.registered).to.deep.equal([['https://agents.example/oauth/callback']])
    expect(await waiting(person)).to.deep.equal([])
  })

  it('has its policy see the defaults of a tool', async () => {
    issues = await OAuthServer.start()
    const agents = signInAgent(issues.url)
    const { url } = await open(undefined, undefined, {
      'agents/desk.yml': `${agents['agents/desk.yml']?.replace('connect_timeout', 'approval: { sign_in_*: never, "*": tells }, connect_timeout')}
  - { id: tells, module: tells }`,
      'modules/tells.ts': `import { ApprovalPolicy, defineModule } from 'agent-host'
export default defineModule({ name: 'Tells', provides: [ApprovalPolicy], create: () => ({ ruleFor: (_, args) => ({ deny: JSON.stringify(args) }) }) })`,
    })
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    expect(textOf(await ask(person, 'count_issues'))).to.include('Reason: {"top":10}')
  })

  it('takes the answer of a sign-in once, with the state that the question has', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    const [question] = await waiting(person)
    const back = await issues.signIn(question?.url)
    const forged = new URL(back)
    forged.searchParams.set('state', 'A'.repeat(43))
    expect((await sendBack(person, forged)).status).to.equal(404)
    const [first, second] = await Promise.all([sendBack(person, back), sendBack(person, back)])
    const statuses = [first.status, second.status].sort()
    expect(statuses[0]).to.equal(200)
    // The loser comes before the decision is committed, or after it.
    expect(statuses[1]).to.be.oneOf([404, 409])
    expect((await sendBack(person, back)).status).to.equal(404)
    const refused = await person.ask('POST', '/compat/approvals/callback', { query: 'error=access_denied' })
    expect(refused.status).to.equal(404)
  })

  it('refuses an answer by hand that belongs to another sign-in, and takes the address as it is', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await ask(person, 'sign_in_issues')
    const [one, other] = await waiting(person)
    const back = await issues.signIn(one?.url)
    const answer = (question: Json, { href }: URL) =>
      person.ask('POST', `/compat/approvals/${question.id}`, { decision: 'answer', answer: href })
    for (const wrong of [await answer(other, back), await answer(one, new URL('?code=1', back))]) {
      expect(wrong.status).to.equal(400)
      expect(JSON.stringify(wrong.json)).to.include('it belongs to another question, by its state.')
    }
    const { json } = await answer(one, back)
    expect(textOf(await settled(person, json.continued_by))).to.include("Signed in to 'issues'.")
    issues.revoke()
    await ask(person, 'count_issues')
    const again = (await waiting(person)).find(({ name }) => name === 'count_issues') as Json
    const forged = await issues.signIn(again.url)
    forged.searchParams.set('iss', 'https://other.example')
    const failed = await answer(again, forged)
    expect(textOf(await settled(person, failed.json.continued_by))).to.include("The sign-in at 'issues' failed: ")
  })

  it('tells the model when the person does not sign in', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    const [question] = await waiting(person)
    const state = new URL(question?.url).searchParams.get('state')
    const query = `error=access_denied&error_description=No%2C+thanks&state=${state}`
    const { json } = await person.ask('POST', '/compat/approvals/callback', { query })
    expect(textOf(await settled(person, json.continued_by))).to.include("The sign-in at 'issues' failed: No, thanks")
    expect(textOf(await ask(person, 'list'))).to.equal('sign_in_issues')
  })

  it('refreshes a token that has expired, and asks again for one that was revoked, after a restart too', async () => {
    issues = await OAuthServer.start()
    const { url, project, close } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    issues.expire()
    expect(textOf(await ask(person, 'count_issues'))).to.equal('42 issues | count_issues')
    expect(issues.refreshes).to.equal(1)
    issues.revoke()
    await ask(person, 'count_issues')
    const [question] = await waiting(person)
    expect(question).to.deep.include({ kind: 'question', name: 'count_issues' })
    await close()
    const next = await makeServer({
      projectDir: project.dir,
      adapters: ['ResponsesCompatApiAdapter'],
      publicUrl: 'https://agents.example',
    })
    const later = new Visitor(await next.listen(), '', 'nobody')
    expect(textOf(await signIn(later))).to.equal('42 issues | count_issues')
    expect(issues.executed).to.have.length(2)
  })

  it('asks again where the server refuses a renewed token, too', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    issues.refusesAll = true
    await ask(person, 'count_issues')
    expect((await waiting(person)).map(({ kind, name }) => [kind, name])).to.deep.equal([['question', 'count_issues']])
    issues.refusesAll = false
    expect(textOf(await signIn(person))).to.equal('42 issues | count_issues')
  })

  it('renews tokens with the secret that the config has now', async () => {
    issues = await OAuthServer.start()
    issues.clientSecret = 'first'
    const { url, project, close } = await open('{ client_id: desk, client_secret: first }')
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    await close()
    issues.clientSecret = 'second'
    issues.expire()
    const changed = signInAgent(issues.url, '{ client_id: desk, client_secret: second }')
    await project.write('agents/desk.yml', String(changed['agents/desk.yml']))
    const next = await makeServer({ projectDir: project.dir, adapters: ['ResponsesCompatApiAdapter'] })
    const later = new Visitor(await next.listen(), '', 'nobody')
    expect(textOf(await ask(later, 'count_issues'))).to.equal('42 issues | count_issues')
    expect(issues.refreshes).to.equal(1)
  })

  it('signs in as another client of the config at another authorization server', async () => {
    issues = await OAuthServer.start('localhost')
    const agentOf = (client: string) =>
      signInAgent(issues.url, `{ client_id: ${client}, client_secret: secret of ${client}, hosts: [localhost] }`)
    const { url, project, close } = await open(undefined, {}, agentOf('first'))
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    await close()
    issues.moveIssuer('127.0.0.1')
    await project.write('agents/desk.yml', String(agentOf('second')['agents/desk.yml']))
    const next = await makeServer({ projectDir: project.dir, adapters: ['ResponsesCompatApiAdapter'] })
    const later = new Visitor(await next.listen(), '', 'nobody')
    await ask(later, 'count_issues')
    expect(issues.secrets).to.not.include('secret of second')
    const [question] = await waiting(later)
    expect(new URL(question?.url).searchParams.get('client_id')).to.equal('second')
    expect(textOf(await signIn(later))).to.equal('42 issues | count_issues')
    expect(issues.registered).to.deep.equal([])
  })

  it('sends the tokens of a server to no other address that takes its name', async () => {
    issues = await OAuthServer.start()
    const other = await OAuthServer.start()
    try {
      const { url, project, close } = await open()
      const person = new Visitor(url, '', 'nobody')
      await ask(person, 'sign_in_issues')
      await signIn(person)
      await close()
      await project.write('agents/desk.yml', String(signInAgent(other.url)['agents/desk.yml']))
      const next = await makeServer({ projectDir: project.dir, adapters: ['ResponsesCompatApiAdapter'] })
      const later = new Visitor(await next.listen(), '', 'nobody')
      await ask(later, 'count_issues')
      expect(other.seen.filter((token) => issues.issued.includes(token))).to.deep.equal([])
      const [question] = await waiting(later)
      expect(question).to.deep.include({ kind: 'question', name: 'count_issues' })
      const { json } = await sendBack(later, await other.signIn(question?.url))
      expect(textOf(await settled(later, json.continued_by))).to.equal('42 issues | count_issues')
    } finally {
      await other.close()
    }
  })

  it('refuses a token that no header can have, without showing it, and asks again', async () => {
    issues = await OAuthServer.start()
    issues.tokenEnd = '\ncanary'
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    const refused = textOf(await signIn(person))
    expect(refused).to.include("The sign-in at 'issues' failed: The token of the authorization server")
    expect(refused).to.not.include('canary')
    issues.tokenEnd = ''
    await ask(person, 'sign_in_issues')
    expect(textOf(await signIn(person))).to.include("Signed in to 'issues'.")
    issues.expire()
    issues.tokenEnd = '\ncanary'
    const renewed = textOf(await ask(person, 'count_issues'))
    expect(renewed).to.include('could not be asked for a new token: The token of the authorization server')
    expect(renewed).to.not.include('canary')
    issues.tokenEnd = ''
    await ask(person, 'count_issues')
    expect(textOf(await signIn(person))).to.equal('42 issues | count_issues')
  })

  it('keeps sign-ins that wait at once apart: each ends with the client that it was begun by', async () => {
    issues = await OAuthServer.start()
    issues.registrationsAtOnce = 4
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await Promise.all(Array.from({ length: 4 }, () => ask(person, 'sign_in_issues')))
    expect(issues.registered).to.have.length(4)
    const questions = await waiting(person)
    const said: string[] = []
    for (const question of questions.reverse()) {
      const { json } = await sendBack(person, await issues.signIn(question.url))
      said.push(textOf(await settled(person, json.continued_by)))
    }
    // New runs have no tool that signs in any more; those that wait in it go on.
    expect(said).to.deep.equal(
      Array.from({ length: 4 }, () => "Signed in to 'issues'. Its tools: count_issues. | count_issues"),
    )
    expect(textOf(await ask(person, 'count_issues'))).to.equal('42 issues | count_issues')
  })

  describe('of two calls at once', () => {
    /** Calls the tools that a message names, all at once, and says their results. */
    const CALLER = `import { ConversationHistory, defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
      export default defineModule({ name: 'Caller', provides: [TextMessageHandler],
        uses: { tools: ToolProvider, history: ConversationHistory, response: Response },
        create: ({ tools, history, response }) => ({ async handleText(text, run) {
          await tools.listTools(run)
          const messages = await history.getHistory()
          const results = messages.slice(messages.findLastIndex(({ role }) => role === 'user')).filter(({ role }) => role === 'tool')
          if (results.length > 0) return void (await response.respondText(results.map(({ content }) => content).join(' + ')))
          const call = (tool, index) => tools.executeTool(tool, {}, run.with({ toolCallId: 'call_' + index }))
          const said = await Promise.all(text.split(' ').map((...each) => call(...each).catch(({ message }) => ({ text: message }))))
          await response.respondText(said.map(({ text }) => text).join(' + '))
        } }) })`
    const files = { 'modules/caller.ts': CALLER }

    it('asks once, and both go on after it', async () => {
      issues = await OAuthServer.start()
      const { url } = await open(undefined, {}, files)
      const person = new Visitor(url, '', 'nobody')
      await ask(person, 'sign_in_issues sign_in_issues')
      expect(await waiting(person)).to.have.lengthOf(1)
      expect(issues.registered).to.have.lengthOf(1)
      const said = "Signed in to 'issues'. Its tools: count_issues."
      expect(textOf(await signIn(person))).to.equal(`${said} + ${said}`)
      expect(await waiting(person)).to.deep.equal([])
    })

    it('asks once again where the sign-in was revoked, after a restart too', async () => {
      issues = await OAuthServer.start()
      const first = await open(undefined, {}, files)
      const person = new Visitor(first.url, '', 'nobody')
      await ask(person, 'sign_in_issues')
      await signIn(person)
      issues.revoke()
      await ask(person, 'count_issues count_issues')
      expect(await waiting(person)).to.have.lengthOf(1)
      await first.close()
      const { project } = first
      const next = await makeServer({
        adapters: ['ResponsesCompatApiAdapter'],
        publicUrl: 'https://agents.example',
        projectDir: project.dir,
      })
      const later = new Visitor(await next.listen(), '', 'nobody')
      expect(textOf(await signIn(later))).to.equal('42 issues + 42 issues')
      expect(issues.executed).to.have.lengthOf(2)
    })

    it('tells both when the person refuses, and asks no second time', async () => {
      issues = await OAuthServer.start()
      const { url } = await open(undefined, {}, files)
      const person = new Visitor(url, '', 'nobody')
      await ask(person, 'sign_in_issues sign_in_issues')
      const [question] = await waiting(person)
      const state = new URL(question?.url).searchParams.get('state')
      const { json } = await person.ask('POST', '/compat/approvals/callback', {
        query: `error=access_denied&state=${state}`,
      })
      const said = "The sign-in at 'issues' failed: access_denied"
      expect(textOf(await settled(person, json.continued_by))).to.equal(`${said} + ${said}`)
      expect(await waiting(person)).to.deep.equal([])
    })
  })

  it('keeps apart sign-ins of runs whose models chose the same id for the call', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues as call_1')
    const refused = 'error=access_denied&state='
    const [first] = await waiting(person)
    await ask(person, 'sign_in_issues as call_1')
    const [second] = (await waiting(person)).filter(({ id }) => id !== first?.id)
    const states = [first, second].map((question) => new URL(question?.url).searchParams.get('state'))
    expect(states[0]).to.not.equal(states[1])
    const denied = await person.ask('POST', '/compat/approvals/callback', { query: refused + states[0] })
    expect(textOf(await settled(person, denied.json.continued_by))).to.include('access_denied')
    const { json } = await sendBack(person, await issues.signIn(second?.url))
    expect(textOf(await settled(person, json.continued_by))).to.include("Signed in to 'issues'.")
  })

  it('takes a timeout with a fraction of a millisecond', async () => {
    issues = await OAuthServer.start()
    const { url } = await open(undefined, {}, signInAgent(issues.url, '{}', ', timeout: 8.12'))
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    expect(textOf(await signIn(person))).to.include("Signed in to 'issues'.")
  })

  it('says that an authorization server does not answer, and goes on once it does', async () => {
    issues = await OAuthServer.start()
    const { url } = await open(undefined, {}, signInAgent(issues.url, '{}', ', timeout: 0.5'))
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    issues.expire()
    issues.tokenDelayMs = 60_000
    expect(textOf(await ask(person, 'count_issues'))).to.match(/said nothing for 0.5 s|could not be asked/)
    expect(issues.refreshes).to.equal(0)
    issues.tokenDelayMs = 0
    // The first call may have ended before the request for a token does.
    await eventually(async () => expect(textOf(await ask(person, 'count_issues'))).to.equal('42 issues | count_issues'))
  })

  it('never uses the token of a tenant for another, whatever user a client names', async () => {
    issues = await OAuthServer.start()
    const { url, project } = await open(undefined, { keys: 'keys.yml' }, { 'keys.yml': KEYS })
    const [alice, bob, carol] = [
      new Visitor(url, 'acme', 'alice'),
      new Visitor(url, 'globex', 'bob'),
      new Visitor(url, 'acme', 'carol'),
    ]
    await ask(alice, 'sign_in_issues')
    const [question] = await waiting(alice)
    const back = await issues.signIn(question?.url)
    expect((await sendBack(bob, back)).status).to.equal(404)
    expect((await sendBack(carol, back)).status).to.equal(403)
    const { json } = await sendBack(alice, back)
    await settled(alice, json.continued_by)
    expect(textOf(await ask(alice, 'count_issues'))).to.equal('42 issues | count_issues')
    const { json: asAlice } = await bob.ask('POST', '/compat/responses', {
      model: 'desk',
      input: 'list',
      user: 'alice',
    })
    expect(textOf(asAlice)).to.equal('sign_in_issues')
    expect(new Set(issues.executed)).to.have.length(1)
    expect(filesWith(project.dir, issues.executed[0] ?? ''), 'files with the token').to.deep.equal([])
  })

  it('leaves no token in a trace, on a tape, or in a response', async () => {
    issues = await OAuthServer.start()
    const { url, project, close } = await open(undefined, { debug: true, record: 1 })
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    await signIn(person)
    issues.expire()
    expect(textOf(await ask(person, 'count_issues'))).to.equal('42 issues | count_issues')
    await close()
    expect(filesWith(project.dir, 'count_issues').some((path) => path.includes('debug'))).to.equal(true)
    expect(issues.issued).to.have.length(4)
    expect(issues.verifiers).to.have.length(1)
    for (const secret of [...issues.issued, ...issues.verifiers]) {
      expect(filesWith(project.dir, secret)).to.deep.equal([])
    }
    expect(issues.codes).to.have.length(1)
    expect(filesWith(project.path('debug'), issues.codes[0] ?? '')).to.deep.equal([])
  })

  it('takes no answer from a page of another origin', async () => {
    issues = await OAuthServer.start()
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    const [question] = await waiting(person)
    const { search } = await issues.signIn(question?.url)
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/compat/approvals/callback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query: search.slice(1) }),
      }).then(({ status }) => status)
    expect(await post({ origin: 'https://evil.example' })).to.equal(403)
    expect(await post({ 'sec-fetch-site': 'cross-site' })).to.equal(403)
    expect(await post({ 'content-type': 'text/plain' })).to.equal(415)
    expect(await waiting(person)).to.have.length(1)
    expect(await post({ origin: new URL(url).origin })).to.equal(200)
  })

  it('asks no host with a private address that the agent file does not name', async () => {
    issues = await OAuthServer.start('localhost')
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    const refused = 'is not public. Only hosts that the agent file names may have one'
    expect(textOf(await ask(person, 'sign_in_issues'))).to.include(refused)
    expect(issues.registered).to.deep.equal([])
  })

  it('asks one that it names', async () => {
    issues = await OAuthServer.start('localhost')
    const { url } = await open('{ hosts: [localhost] }')
    const person = new Visitor(url, '', 'nobody')
    await ask(person, 'sign_in_issues')
    expect(textOf(await signIn(person))).to.include("Signed in to 'issues'.")
  })

  it('leads nobody to a page whose address has user information', async () => {
    issues = await OAuthServer.start()
    issues.userInformation = 'accounts.example.com@'
    const { url } = await open()
    const person = new Visitor(url, '', 'nobody')
    const answered = await ask(person, 'sign_in_issues')
    expect(textOf(answered)).to.match(/names a page to sign in at with user information/)
    expect(await waiting(person)).to.deep.equal([])
  })

  it('refuses to keep tokens per user', async () => {
    issues = await OAuthServer.start()
    const { problems } = await open('{ per: user }')
    expect(
      problems()
        .map(({ message }) => message)
        .join(),
    ).to.include("The server 'issues' keeps tokens per 'user', which is refused: they are kept per tenant.")
  })

  it('says in chat where to sign in', async () => {
    issues = await OAuthServer.start()
    const { app } = await open()
    const reply = await app.inject({
      method: 'POST',
      url: '/compat/chat/completions',
      payload: chat('desk', 'sign_in_issues'),
    })
    expect(reply.json().choices[0].message.content).to.match(
      /Sign in to 'issues' to go on: http:\/\/127\.0\.0\.1:\d+\/authorize\?/,
    )
  })
})

describeWith('Redis', hasRedis(), 'tools/mcp that wants a sign-in, on two servers of a store', () => {
  it('refreshes a token once, on whichever it is needed: neither loses the sign-in', async () => {
    const [issues, store] = await Promise.all([OAuthServer.start(), startRedis()])
    const options = { adapters: ['ResponsesCompatApiAdapter'], publicUrl: 'https://agents.example', store: store.url }
    const first = await makeServer(options, signInAgent(issues.url))
    const other = await makeServer({ ...options, projectDir: first.project.dir })
    const people = [
      new Visitor(await first.listen(), '', 'one'),
      new Visitor(await other.listen(), '', 'other'),
    ] satisfies [Visitor, Visitor]
    const ask = async (person: Visitor, input: string) => {
      const { json } = await person.ask('POST', '/compat/responses', { model: 'desk', input })
      return json.output.at(-1)?.content?.[0]?.text
    }
    await Promise.all(people.map((person) => ask(person, 'sign_in_issues')))
    const [question] = (await people[0].ask('GET', '/compat/approvals')).json.data
    const back = await issues.signIn(question.url)
    await people[1].ask('POST', '/compat/approvals/callback', { query: back.search.slice(1) })
    await eventually(async () => expect(await ask(people[0], 'list')).to.equal('count_issues'))
    // One that waits in the tool that signs in goes on after another has, on a server that starts later, too.
    const late = await makeServer({ ...options, projectDir: first.project.dir })
    people[1] = new Visitor(await late.listen(), '', 'late')
    const [left] = (await people[1].ask('GET', '/compat/approvals')).json.data
    const answer = (await issues.signIn(left.url)).href
    const { json } = await people[1].ask('POST', `/compat/approvals/${left.id}`, { decision: 'answer', answer })
    await eventually(async () => {
      const { output } = (await people[0].ask('GET', `/compat/responses/${json.continued_by}`)).json
      expect(output.at(-1)?.content?.[0]?.text).to.equal(
        "Signed in to 'issues'. Its tools: count_issues. | count_issues",
      )
    })
    for (let round = 1; round <= 5; round++) {
      issues.expire()
      issues.tokenDelayMs = 100
      const asked = [...people, ...people].map((person) => ask(person, 'count_issues'))
      expect(await Promise.all(asked)).to.deep.equal(Array.from({ length: 4 }, () => '42 issues | count_issues'))
      expect(issues.refreshes).to.equal(round)
    }
    await closeServers()
    await Promise.all([issues.close(), store.remove()])
  })
})

describe('tools/mcp whose server is killed while it renews a token', () => {
  it('goes on where the refresh token still counts, and asks for a new sign-in where it does not', async () => {
    const issues = await OAuthServer.start()
    const project = await makeProject(signInAgent(issues.url, '{}', ', timeout: 0.5'))
    let server = await startResponses(project.dir)
    const ask = async (input: string) => {
      const { json } = await server.ask('', { model: 'desk', input })
      return json.output.at(-1)?.content?.[0]?.text
    }
    const signIn = async (): Promise<string> => {
      const [question] = (await server.ask('/../approvals')).json.data
      const query = (await issues.signIn(question.url)).search.slice(1)
      const { json } = await server.ask('/../approvals/callback', { query })
      await eventually(async () =>
        expect((await server.ask(`/${json.continued_by}`)).json.status).to.equal('completed'),
      )
      return question.message
    }
    const killInRefresh = async () => {
      issues.expire()
      const held = issues.holdToken()
      const asking = ask('count_issues').catch(() => {})
      await held
      await Promise.all([asking, server.stop('SIGKILL')])
      server = await startResponses(project.dir)
    }
    try {
      await ask('sign_in_issues')
      await signIn()
      issues.graceMs = 60_000
      await killInRefresh()
      expect(await ask('count_issues')).to.equal('42 issues | count_issues')
      issues.graceMs = 0
      await killInRefresh()
      await ask('count_issues')
      expect(await signIn()).to.match(
        /^Sign in to 'issues' again to go on, since renewing the last sign-in broke off: /,
      )
      expect(await ask('count_issues')).to.equal('42 issues | count_issues')
    } finally {
      await server.stop('SIGKILL')
      await issues.close()
    }
  })
})
