import { AgentHost, type Message, memoryStorage } from 'agent-host'
import { expect } from 'chai'
import { TurnLog } from '../../../modules/conversation/lib/turn-log.ts'
import persistent from '../../../modules/conversation/persistent.ts'
import { describeConversationHistory } from '../../suites/conversation-history-suite.ts'
import { eventually } from '../../support/eventually.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const RECALL = `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Recall', provides: [TextMessageHandler], uses: { history: ConversationHistory, response: Response },
  create: ({ history, response }) => ({ async handleText(text, run) {
    const messages = await history.getHistory(run)
    if (text === 'forget') await history.clearHistory(run)
    if (text === 'fail') throw new Error('failed')
    if (text === 'wait') { await response.respondText('begun'); await new Promise((_, reject) => { if (run.signal.aborted) reject(run.signal.reason); run.signal.addEventListener('abort', () => reject(run.signal.reason)) }) }
    await response.respondText(messages.map(({ content }) => content).join('|').slice(0, 200))
  } }) })`

const AGENT = (config: object = {}) => ({
  id: 'keeper',
  modules: [
    { id: 'kept', module: 'conversation/persistent', config },
    { id: 'recall', module: 'recall' },
  ],
})

const hosts: AgentHost[] = []

async function makeKeeper(config: object = {}) {
  const project = await makeProject({ 'modules/recall.ts': RECALL })
  const source = memoryStorage()
  const start = async () => {
    const host = new AgentHost({ projectDir: project.dir, storage: source })
    hosts.push(host)
    await host.register(AGENT(config))
    return async (text: string | Message[], user?: string, conversation_id?: string) =>
      (await host.run('keeper', text, { user, metadata: conversation_id === undefined ? {} : { conversation_id } }))
        .text
  }
  const storage = source.storageOf({ agentId: 'keeper', moduleId: 'kept' })
  const saved = () => storage.list({ prefix: '', limit: 100 })
  return { ask: await start(), start, saved, host: hosts.at(-1) as AgentHost, storage }
}

describe('conversation/persistent', () => {
  afterEach(async () => {
    await Promise.all(hosts.splice(0).map((host) => host.close(0)))
    await closeServers()
  })

  describeConversationHistory(async (history) => {
    const response = {
      respondText() {},
      respondReasoning() {},
      respondImage() {},
      respondAudio() {},
      respondFile() {},
      getResponse: () => ({ text: '', attachments: [] }),
    }
    const config = { metadata_key: 'conversation_id', by_user: true, max_messages: 200 }
    const context = makeContext()
    return persistent.create({ history, response, storage: memoryStorage().storageOf(context) }, config, context)
  })

  it("continues a user's conversation, even after a restart", async () => {
    const { ask, start } = await makeKeeper()
    expect(await ask('one', 'ann')).to.equal('one')
    expect(await ask('two', 'ann')).to.equal('one|one|two')
    expect(await (await start())('three', 'ann')).to.equal('one|one|two|one|one|two|three')
  })

  it('saves a turn once if its run sent text, waited and continued', async () => {
    const { ask, storage, saved } = await makeKeeper()
    await ask('one', 'ann')
    const [first] = await saved()
    // As the run that waited left it.
    await storage.append(first?.key.slice(0, first.key.lastIndexOf('/')) ?? '', [
      says('two'),
      { role: 'assistant', content: 'Wait.' },
    ])
    const continued: Message[] = [
      says('two'),
      { role: 'assistant', content: 'Wait.', toolCalls: [{ id: 'c', name: 'look_up', arguments: {} }] },
      { role: 'tool', content: 'found', toolCallId: 'c' },
    ]
    expect(await ask(continued, 'ann')).to.equal('one|one|two|Wait.|found')
    expect(await ask('three', 'ann')).to.equal('one|one|two|Wait.one|one|two|Wait.|found|three')
  })

  it('keeps what was said meanwhile, where a run sent text, waited and continued', async () => {
    const { ask, host, storage, saved } = await makeKeeper()
    await ask('one', 'ann')
    const [first] = await saved()
    const log = first?.key.slice(0, first.key.lastIndexOf('/')) ?? ''
    await storage.append(log, [says('wait'), { role: 'assistant', content: 'Wait.' }])
    expect(await ask('two', 'ann')).to.equal('one|one|wait|Wait.|two')
    const continued: Message[] = [
      says('wait'),
      { role: 'assistant', content: 'Wait.', toolCalls: [{ id: 'c', name: 'look_up', arguments: {} }] },
      { role: 'tool', content: 'found', toolCallId: 'c' },
    ]
    const controller = new AbortController()
    const meanwhile = new Promise<string>((resolve, reject) => {
      const onEvent = ({ type }: { type: string }) =>
        void (type === 'text' && ask('three', 'ann').then(resolve, reject))
      host.run('keeper', continued, { user: 'ann', signal: controller.signal, onEvent }).catch(() => {})
    })
    expect(await meanwhile).to.match(/^one\|one\|wait\|Wait\.\|two\|.*\|three$/)
    controller.abort()
    await eventually(async () => expect(await saved()).to.have.length(5))
    const shown = await ask('x', 'ann')
    expect(shown).to.equal(
      'one|one|two|one|one|wait|Wait.|two|three|one|one|wait|Wait.|two|one|one|wait|Wait.|two|three|wait|Wait.begun|x',
    )
  })

  it('continues the saved conversation when a run that waited for its client continues', async () => {
    const { ask } = await makeKeeper()
    await ask('one', 'ann')
    const continued: Message[] = [
      says('two'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'look_up', arguments: {} }] },
      { role: 'tool', content: 'found', toolCallId: 'c' },
    ]
    expect(await ask(continued, 'ann')).to.equal('one|one|two||found')
  })

  it('keeps conversations apart: by id, by user, and by user and id', async () => {
    const { ask, saved } = await makeKeeper()
    await ask('a', 'ann')
    await ask('b', 'ann', 'c1')
    await ask('c', 'bob', 'c1')
    await ask('d', undefined, 'c1')
    expect(await ask('x', 'ann')).to.equal('a|a|x')
    expect(await ask('x', 'ann', 'c1')).to.equal('b|b|x')
    expect(await ask('x', 'bob', 'c1')).to.equal('c|c|x')
    expect(await ask('x', undefined, 'c1')).to.equal('d|d|x')
    const logs = (await saved()).map(({ key }) => key.slice(0, key.lastIndexOf('/')))
    expect(new Set(logs)).to.have.property('size', 4)
  })

  it('saves nothing without an id or a user', async () => {
    const { ask, saved } = await makeKeeper({ by_user: false })
    expect(await ask('one', 'ann')).to.equal('one')
    expect(await ask('two')).to.equal('two')
    expect(await saved()).to.deep.equal([])
  })

  it("uses the client's conversation unchanged, and saves the new turn", async () => {
    const { ask } = await makeKeeper()
    await ask('one', 'ann')
    const brought: Message[] = [
      { role: 'system', content: 's' },
      says('x'),
      { role: 'assistant', content: 'y' },
      says('two'),
    ]
    expect(await ask(brought, 'ann')).to.equal('s|x|y|two')
    expect(await ask([{ role: 'system', content: 's' }, says('three')], 'ann')).to.equal(
      's|one|one|two|s|x|y|two|three',
    )
  })

  it('shows the latest saved messages, starting at a question', async () => {
    const { ask } = await makeKeeper({ max_messages: 3 })
    for (const text of ['1', '2', '3']) await ask(text, 'ann')
    expect(await ask('4', 'ann')).to.match(/^3\|.*\|4$/)
  })

  it('loses and mixes no turns when many run at once', async () => {
    const { ask, saved } = await makeKeeper()
    const texts = Array.from({ length: 30 }, (_, n) => `text ${n} ${'x'.repeat(3000)}`)
    await Promise.all(texts.map((text) => ask(text, 'ann')))
    const turns = (await saved()).map(({ value }) => (value as { readonly messages: Message[] }).messages)
    expect(turns.map((turn) => turn.map(({ role }) => role))).to.deep.equal(texts.map(() => ['user', 'assistant']))
    expect(turns.map(([asked]) => asked?.content).sort()).to.deep.equal([...texts].sort())
  })

  it('saves nothing of a turn that failed before any text, and the partial text of an interrupted one', async () => {
    const { ask, host, saved } = await makeKeeper()
    await ask('one', 'ann')
    await ask('fail', 'ann').catch(() => {})
    const controller = new AbortController()
    const running = host.run('keeper', 'wait', {
      user: 'ann',
      signal: controller.signal,
      onEvent: ({ type }) => void (type === 'text' && setImmediate(() => controller.abort())),
    })
    await running.catch(() => {})
    await eventually(async () => expect(await saved()).to.have.length(2))
    expect(await ask('two', 'ann')).to.equal('one|one|wait|begun|two')
  })

  it('forgets the conversation when cleared', async () => {
    const { ask } = await makeKeeper()
    await ask('one', 'ann')
    await ask('forget', 'ann')
    expect(await ask('two', 'ann')).to.equal('forget|one|one|forget|two')
  })

  it('saves attachments: bytes and addresses', async () => {
    const turns = new TurnLog(memoryStorage().storageOf({ agentId: 'keeper', moduleId: 'kept' }), 'key', 9, () => {})
    const url = new URL('https://example.test/a.png')
    const bytes = Buffer.from([1, 2, 255])
    const attachments = [
      { mediaType: 'image/png', data: bytes, name: 'A' },
      { mediaType: 'image/png', data: url },
    ]
    await turns.append([{ role: 'user', content: 'see', attachments }], undefined, makeRun())
    const [kept] = await turns.read(makeRun())
    expect(kept?.messages).to.deep.equal([{ role: 'user', content: 'see', attachments }])
  })

  it('leaves out turns that cannot be read, and says so', async () => {
    const warnings: string[] = []
    const storage = memoryStorage().storageOf({ agentId: 'keeper', moduleId: 'kept' })
    const turns = new TurnLog(storage, 'key', 9, (message) => warnings.push(message))
    for (const content of ['one', 'two', 'three', 'four'])
      await turns.append([{ role: 'user', content }], undefined, makeRun())
    const [, two, three] = await storage.list({ prefix: '', limit: 9 })
    await storage.set(two?.key ?? '', 'no turn')
    await storage.set(three?.key ?? '', { replaces: true, messages: [null] })
    expect((await turns.read(makeRun())).map(({ messages }) => messages[0]?.content)).to.deep.equal(['one', 'four'])
    expect(warnings.map((line) => line.slice(0, 12))).to.deep.equal(['The turn in ', 'The turn in '])
  })

  it('serves the chat API: the user of a request, and another window over the same conversation', async () => {
    const { app } = await makeServer(
      {},
      {
        'modules/recall.ts': RECALL,
        'agents/keeper.yml': JSON.stringify({
          id: 'keeper',
          modules: [...AGENT().modules, { id: 'window', module: 'conversation/windowed', config: { max_messages: 3 } }],
          exchange: [
            { module: 'window', protocol: 'ConversationHistory', provider: 'kept' },
            { module: 'recall', protocol: 'ConversationHistory', provider: 'window' },
          ],
        }),
      },
    )
    const say = async (text: string) => {
      const { body } = await app.inject({
        method: 'POST',
        url: '/compat/chat/completions',
        payload: chat('keeper', text, { user: 'ann' }),
      })
      return JSON.parse(body).choices[0].message.content
    }
    expect([await say('1'), await say('2'), await say('3')]).to.deep.equal(['1', '1|1|2', '2|1|1|2|3'])
  })
})
