import { type HostError, type OpenedProject, openProject, type RunEvent } from 'agent-host'
import { expect } from 'chai'
import { ConversationStore } from '../../../src/durable/conversations/conversation-store.ts'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { makeProject } from '../../support/temp-project.ts'

const WEATHER = { name: 'weather', description: 'Tells the weather.', parameters: { type: 'object' } } as const
const FILES = {
  ...CLIENT_TOOLS_PROJECT,
  'agents/count.yml': 'id: count\nmodules: [{ id: main, module: count }]',
  'modules/count.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Count', provides: [TextMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({ async handleText(text, run) {
    if (text === 'wait') await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason)))
    await response.respondText((await history.getHistory()).length + ' messages')
  } }) })`,
}

const say = (content: string) => [{ role: 'user' as const, content }]
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fulfilled',
    ({ code }: HostError) => code,
  )

describe('runs of a thread', () => {
  let dir: string
  let project: OpenedProject
  const open = async () => {
    project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
  }
  beforeEach(async () => {
    dir = (await makeProject(FILES)).dir
    await open()
  })
  afterEach(() => project.close())

  const begin = async (text: string, thread = 't1', tenant = '') => {
    const run = await project.runs.of(tenant).begin({ agent: 'count', thread, messages: say(text) })
    return (await run.result).text
  }

  it('are one conversation, whose runs are stored, and which goes on after a restart', async () => {
    expect(await begin('one')).to.equal('1 messages')
    expect(await begin('two')).to.equal('3 messages')
    await project.close()
    await open()
    expect(await project.runs.of('').latest('t1')).to.include({ status: 'completed', text: '3 messages' })
    expect(await begin('three')).to.equal('5 messages')
  })

  it('are of one tenant and one key', async () => {
    await begin('one')
    expect(await begin('one', 't2')).to.equal('1 messages')
    expect(await begin('one', 't1', 'acme')).to.equal('1 messages')
    expect(await project.runs.of('other').latest('t1')).to.equal(undefined)
  })

  it('are one after the other: an aborted one too is part of the conversation', async () => {
    const runs = project.runs.of('')
    const run = await runs.begin({ agent: 'count', thread: 't1', messages: say('wait') })
    expect(await codeOf(begin('three'))).to.equal('RESPONSE_CONFLICT')
    run.abort()
    expect(await codeOf(run.result)).to.equal('RUN_ABORTED')
    expect(await runs.latest('t1')).to.include({ id: run.id, status: 'cancelled' })
    expect(await begin('three')).to.equal('2 messages')
  })

  it('may also be carried out by any worker', async () => {
    const runs = project.runs.of('')
    await begin('one')
    const { id } = await runs.start({ agent: 'count', thread: 't1', messages: say('two') })
    expect((await runs.outcome(id)).text).to.equal('3 messages')
    expect(await runs.latest('t1')).to.include({ id })
  })

  it('go on with answers, once', async () => {
    const runs = project.runs.of('')
    const asked = { agent: 'tools', thread: 't3', clientTools: [WEATHER] }
    const waiting = await (await runs.begin({ ...asked, messages: say('weather Lima pay Lima') })).result
    const answers = waiting.pending.map(({ callId, kind }) =>
      kind === 'client_tool'
        ? ({ callId, kind, result: { text: 'sunny' } } as const)
        : ({ callId, kind: 'approval', decision: 'approve' } as const),
    )
    const seen: RunEvent[] = []
    const goOn = () =>
      runs.begin({ ...asked, messages: [], answers, by: 'ada' }, { onEvent: (event) => void seen.push(event) })
    expect((await (await goOn()).result).text).to.equal('weather: sunny; pay: pay was executed')
    expect(seen.map(({ type }) => type)).to.include.members(['tool_result', 'text', 'end'])
    expect(await codeOf(goOn())).to.equal('REQUEST_INVALID')
    expect(await runs.latest('t3')).to.deep.include({ status: 'completed', open: [] })
  })

  for (const way of ['answer', 'resume'] as const) {
    it(`go on by ${way}, although somebody renames the conversation between the look and the claim`, async () => {
      const runs = project.runs.of('')
      const asked = { agent: 'tools', thread: 't5', clientTools: [WEATHER], messages: say('weather Lima') }
      const run = await runs.begin(asked)
      const { pending: [{ callId = '' } = {}] = [] } = await run.result
      const [open] = (await runs.latest('t5'))?.open ?? []
      const { find } = ConversationStore.prototype
      ConversationStore.prototype.find = async function (id) {
        ConversationStore.prototype.find = find
        const found = await this.find(id)
        await this.update(id ?? '', { name: 'renamed' })
        return found
      }
      const sunny = { kind: 'client_tool', result: { text: 'sunny' } } as const
      if (way === 'resume') await (await runs.resume(run.id, [{ ...sunny, callId }], 'ada')).result
      else await runs.outcome((await runs.answer(new Map([[open?.id ?? '', sunny]]), 'ada')).continuedBy ?? '')
      expect(ConversationStore.prototype.find).to.equal(find)
      expect(await runs.latest('t5')).to.include({ previousId: run.id, text: 'weather: sunny' })
    })
  }

  it('have no outcome yet when the one who waits for it gives up', async () => {
    const runs = project.runs.of('')
    const run = await runs.begin({ agent: 'count', thread: 't1', messages: say('wait') })
    const leaving = new AbortController()
    const waits = [AbortSignal.abort(new Error('gone')), leaving.signal].map((signal) => runs.outcome(run.id, signal))
    leaving.abort(new Error('gone'))
    for (const wait of waits) expect(await wait.catch(({ message }: Error) => message)).to.equal('gone')
    run.abort()
    expect(await codeOf(run.result)).to.equal('RUN_ABORTED')
  })

  it('follow what was decided elsewhere', async () => {
    const runs = project.runs.of('')
    await (await runs.begin({ agent: 'tools', thread: 't4', messages: say('pay Lima') })).result
    const [call] = (await runs.latest('t4'))?.open ?? []
    const { continuedBy } = await runs.answer(
      new Map([[call?.id ?? '', { kind: 'approval', decision: 'approve' }]]),
      'ada',
    )
    await runs.outcome(continuedBy ?? '')
    expect(await runs.latest('t4')).to.include({ id: continuedBy, text: 'pay: pay was executed' })
  })
})
