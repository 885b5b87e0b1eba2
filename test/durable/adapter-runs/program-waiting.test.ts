import { type OpenedProject, openProject, type PendingAnswer } from 'agent-host'
import { expect } from 'chai'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { makeProject } from '../../support/temp-project.ts'

const WEATHER = { name: 'weather', description: 'Tells the weather.', parameters: { type: 'object' } } as const
const FILES = {
  ...CLIENT_TOOLS_PROJECT,
  'agents/hasty.yml': `${CLIENT_TOOLS_PROJECT['agents/tools.yml'].replace('id: tools', 'id: hasty')}\napproval_ttl: 1`,
  'agents/eyes.yml': 'id: eyes\nmodules: [{ id: main, module: eyes }]',
  'modules/eyes.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Eyes', provides: [TextMessageHandler], attachments: ['image/*'],
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools, history, response }) => ({ async handleText(_, run) {
    const [seen, ...more] = await history.getHistory()
    const told = more.find(({ role }) => role === 'tool')
    if (told) await response.respondText(told.content + ', with ' + seen.attachments[0].data.length + ' bytes')
    else await tools[0].executeTool('weather', {}, run.with({ toolCallId: 'call_1' }))
  } }) })`,
  'agents/twice.yml': 'id: twice\nmodules: [{ id: main, module: twice }]',
  'modules/twice.ts': `import { ConversationHistory, defineModule, many, TextMessageHandler, ToolProvider } from 'agent-host'
globalThis.twiceTries = 0
export default defineModule({ name: 'Twice', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), history: ConversationHistory },
  create: ({ tools, history }) => ({ async handleText(_, run) {
    const outputs = (await history.getHistory()).filter(({ role }) => role === 'tool')
    if (outputs.length === 1 && globalThis.twiceTries++ === 0) throw new Error('no')
    if (outputs.length < 2) await tools[0].executeTool('weather', {}, run.with({ toolCallId: 'call_' + outputs.length }))
  } }) })`,
}

describe('project.listWaiting has the runs that wait for a tool of the program', () => {
  let project: OpenedProject
  beforeEach(async () => {
    const { dir } = await makeProject(FILES)
    project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
  })
  afterEach(() => project.close())

  const begin = async (agent: string, text: string) =>
    (await project.run(agent, text, { clientTools: [WEATHER] })).runId
  const list = async () =>
    (await project.listWaiting()).map(({ runId, pending }) => [runId, ...pending.map(({ name }) => name)])
  const outputs = async (runId: string): Promise<PendingAnswer[]> => {
    const waiting = (await project.listWaiting()).find((each) => each.runId === runId)
    const calls = waiting?.pending.filter(({ kind }) => kind === 'client_tool') ?? []
    return calls.map(({ callId }) => ({ callId, kind: 'client_tool', result: { text: 'sunny' } }))
  }

  it('after the call beside it was approved, with what is still open, until it goes on', async () => {
    const id = await begin('tools', 'weather Lima pay Lima')
    expect(await list()).to.deep.equal([[id, 'weather', 'pay']])
    const { waiting } = await project.runs.of('').listWaiting()
    await project.runs.of('').answer(new Map([[waiting[0]?.id ?? '', { kind: 'approval', decision: 'approve' }]]), 'me')
    expect(await list()).to.deep.equal([[id, 'weather']])
    expect((await project.resume(id, await outputs(id))).text).to.equal('weather: sunny; pay: pay was executed')
    expect(await list()).to.deep.equal([])
  })

  it('after the call beside it has expired, or until the run is cancelled', async () => {
    const id = await begin('hasty', 'weather Lima pay Lima')
    await eventually(async () => expect(await list()).to.deep.equal([[id, 'weather']]), 10_000)
    await project.runs.of('').cancel(`resp_${id}`)
    expect(await list()).to.deep.equal([])
  })

  it('until it has expired: its status says so, it takes no answer, and a message continues it', async () => {
    const id = await begin('hasty', 'pay Lima')
    const runs = project.runs.of('')
    const [call] = (await runs.find(`resp_${id}`))?.open ?? []
    await eventually(async () => expect(await list()).to.deep.equal([]), 10_000)
    expect(await runs.find(`resp_${id}`)).to.deep.include({ status: 'expired', open: [], continuedBy: null })
    expect((await runs.listWaiting()).waiting).to.deep.equal([])
    expect(await runs.outcome(`resp_${id}`)).to.include({ status: 'expired' })
    const approve = new Map([[call?.id ?? '', { kind: 'approval', decision: 'approve' } as const]])
    const refused = await runs.answer(approve, 'me').catch((error: { code: string }) => error.code)
    expect(refused).to.equal('APPROVAL_DECIDED')
    const messages = [{ role: 'user' as const, content: 'never mind' }]
    const { id: next } = await runs.start({ agent: 'tools', messages, previousId: `resp_${id}` })
    await runs.outcome(next)
    expect(await runs.find(`resp_${id}`)).to.include({ status: 'completed', continuedBy: next })
  })

  it('in every round, and again when the run that goes on has failed before it has called anything', async () => {
    const id = await begin('twice', 'weather')
    await project.resume(id, await outputs(id)).catch(() => {})
    expect(await list()).to.deep.equal([[id, 'weather']])
    const second = await project.resume(id, await outputs(id))
    expect(await list()).to.deep.equal([[second.runId, 'weather']])
    await project.resume(second.runId, await outputs(second.runId))
    expect(await list()).to.deep.equal([])
  })

  it('until a message supersedes it', async () => {
    const id = await begin('tools', 'weather Lima')
    const messages = [{ role: 'user' as const, content: 'never mind' }]
    await project.runs.of('').start({ agent: 'tools', messages, previousId: `resp_${id}` })
    expect(await list()).to.deep.equal([])
  })
})

describe('an id that a program gives its run', () => {
  it('is a UUID of version 7 in lower case, and is stored once', async () => {
    const { dir } = await makeProject(FILES)
    await using project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
    const run = (runId: string) =>
      project.run('tools', 'weather Lima', { clientTools: [WEATHER], runId }).then(
        ({ status }) => status,
        (error: { code: string; message: string }) => `${error.code} ${error.message}`,
      )
    const version = /^REQUEST_INVALID options\.runId must be a UUID of version 7, in lower case/
    expect(await run('0b0b0b0b-1111-4111-8111-111111111111')).to.match(version)
    expect(await run('019F0B0B-1111-7111-8111-111111111111')).to.match(version)
    const id = '019f0b0b-1111-7111-8111-111111111111'
    expect(await run(id)).to.equal('waiting')
    expect(await project.runs.of('').find(`resp_${id}`)).to.include({ status: 'waiting' })
    expect(await run(id)).to.match(/^RESPONSE_CONFLICT Another run is stored as 'resp_019f0b0b/)
    expect((await project.listWaiting()).map(({ runId }) => runId)).to.deep.equal([id])
  })

  it('keeps the attachments of the run that was stored first', async () => {
    const { dir } = await makeProject(FILES)
    await using project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
    const options = { clientTools: [WEATHER], runId: '019f0b0b-1111-7111-8111-111111111111' }
    const attachments = [{ mediaType: 'image/png', data: new Uint8Array(70_000) }]
    const run = () => project.run('eyes', [{ role: 'user', content: 'weather', attachments }], options)
    const { pending: [call] = [] } = await run()
    expect(await run().catch((error: { code: string }) => error.code)).to.equal('RESPONSE_CONFLICT')
    const answer = { callId: call?.callId ?? '', kind: 'client_tool', result: { text: 'sunny' } } as const
    expect((await project.resume(options.runId, [answer])).text).to.equal('sunny, with 70000 bytes')
  })
})
