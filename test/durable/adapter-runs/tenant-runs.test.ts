import {
  type GivenAnswer,
  HostError,
  type OpenedProject,
  openProject,
  type PendingAnswer,
  type RunEvent,
  type TenantRuns,
} from 'agent-host'
import { expect } from 'chai'
import { Approvals } from '../../../src/durable/approvals/approvals.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { SHOP_FILES } from '../../support/shop.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const WEATHER = { name: 'weather', description: 'Tells the weather.', parameters: { type: 'object' } } as const
const FILES = {
  ...CLIENT_TOOLS_PROJECT,
  'agents/chooser.yml': `id: chooser
modules:
  - { id: llm, module: chooser, config: { mood: sad } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/chooser.ts': `import { defineModule, LLM, Type } from 'agent-host'
export default defineModule({ name: 'Chooser', provides: [LLM], config: Type.Object({ mood: Type.String({ variant: true }) }), create: (_, { mood }) => ({
  async *generate({ messages, tools = [], toolChoice = 'none' }) {
    const isTold = messages.some(({ role }) => role === 'tool')
    if (!isTold || toolChoice === 'required') yield { type: 'tool_call', call: { id: 'call_' + messages.length, name: tools[0].name, arguments: {} } }
    else yield { type: 'text', text: mood + ', choice: ' + toolChoice }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
  'agents/broken.yml': 'id: broken\nmodules: [{ id: main, module: broken }]',
  'modules/broken.ts': `import { ConversationHistory, defineModule, many, TextMessageHandler, ToolProvider } from 'agent-host'
globalThis.brokenTries = 0
export default defineModule({ name: 'Broken', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), history: ConversationHistory },
  create: ({ tools, history }) => ({ async handleText(_, run) {
    const outputs = (await history.getHistory()).filter(({ role }) => role === 'tool')
    if (outputs.length > 0) { if (globalThis.brokenTries++ === 0) throw new Error('no'); return }
    await tools[0].executeTool('weather', {}, run.with({ toolCallId: 'call_1' }))
  } }) })`,
  'agents/torn.yml': 'id: torn\nmodules: [{ id: main, module: torn }, { id: notes, module: notes }]',
  'modules/notes.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Notes', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'note', description: 'Notes.', parameters: { type: 'object' } }],
  executeTool: async () => ({ text: 'noted' }) }) })`,
  'modules/torn.ts': `import { ConversationHistory, defineModule, many, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Torn', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), history: ConversationHistory },
  create: ({ tools, history }) => ({ async handleText(text, run) {
    const isAnswered = (await history.getHistory()).some(({ role }) => role === 'tool')
    if (isAnswered && text === 'hang first') await hang(run)
    const [name, toolCallId] = isAnswered ? ['note', 'call_2'] : ['weather', 'call_1']
    for (const tool of tools) {
      if ((await tool.listTools(run)).some((each) => each.name === name)) await tool.executeTool(name, {}, run.with({ toolCallId }))
    }
    if (text === 'hang later') await hang(run)
    throw new Error('no')
  } }) })
const hang = ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))`,
}
const SUNNY: GivenAnswer = { kind: 'client_tool', result: { text: 'sunny' } }

describe('durable runs that wait for their client', () => {
  let folder: TempProject
  let one: OpenedProject
  let two: OpenedProject

  beforeEach(async () => {
    folder = await makeProject(FILES)
    one = await open()
    two = await open()
  })
  afterEach(async () => {
    await Promise.all([one.close(), two.close()])
  })

  const open = (options: object = {}) => openProject({ projectDir: folder.dir, logLevel: 'silent', ...options })
  const wait = async (runs: TenantRuns, agent = 'tools', text = 'weather Lima') => {
    const { id } = await runs.start({ agent, messages: [{ role: 'user', content: text }], clientTools: [WEATHER] })
    const { open } = await runs.outcome(id)
    const ofClient = open.filter(({ call }) => call.kind === 'client_tool')
    return { id, answers: new Map(ofClient.map(({ id }) => [id, SUNNY])) }
  }
  const refusalOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => (error instanceof HostError ? error.code : String(error)),
    )

  for (const [what, text, after] of [
    ['', 'weather Lima', { text: 'weather: sunny', open: [] }],
    [' and a person', 'weather Lima pay Lima', { text: '', open: ['pay'] }],
  ] as const) {
    it(`continue once${what}: of two callers at the same time one does, and the other gets the conflict`, () =>
      continueOnce(text, after))
  }

  async function continueOnce(
    text: string,
    after: { readonly text: string; readonly open: readonly string[] },
  ): Promise<void> {
    const [here, there] = [one.runs.of(''), two.runs.of('')]
    for (let round = 0; round < 5; round++) {
      const { id, answers } = await wait(here, 'tools', text)
      const results = await Promise.allSettled([here.answer(answers, 'ann'), there.answer(answers, 'bob')])
      const continued = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.continuedBy] : []))
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
      expect(refused).to.deep.equal(['APPROVAL_DECIDED'])
      expect((await there.find(id))?.continuedBy).to.equal(continued[0])
      const outcome = await there.outcome(continued[0] ?? '')
      expect({ text: outcome.text, open: outcome.open.map(({ call }) => call.name) }).to.deep.equal(after)
      expect(await refusalOf(here.answer(answers, 'ann'))).to.equal('APPROVAL_DECIDED')
    }
  }

  it('continue once, also when another answers between the look at what waits and the claim', async () => {
    const runs = one.runs.of('')
    const { answers } = await wait(runs, 'tools', 'weather Lima pay Lima')
    const { ofRun } = Approvals.prototype
    Approvals.prototype.ofRun = async function (id) {
      Approvals.prototype.ofRun = ofRun
      const found = await ofRun.call(this, id)
      await runs.answer(answers, 'ann')
      return found
    }
    expect(await refusalOf(two.runs.of('').answer(answers, 'bob'))).to.equal('APPROVAL_DECIDED')
    expect(Approvals.prototype.ofRun).to.equal(ofRun)
  })

  it('continue once, by their answer or a message; a message after that is a branch of the conversation', async () => {
    const runs = one.runs.of('')
    const { id, answers } = await wait(runs)
    const message = { agent: 'tools', messages: [{ role: 'user' as const, content: 'never mind' }], previousId: id }
    const [answered, started] = await Promise.allSettled([runs.answer(answers, 'ann'), two.runs.of('').start(message)])
    const next = answered.status === 'fulfilled' ? answered.value.continuedBy : null
    const { continuedBy } = (await runs.find(id)) ?? {}
    if (next === null) expect(started).to.include({ status: 'fulfilled' })
    else expect(next).to.equal(continuedBy)
    const branch = await runs.start(message)
    expect((await runs.find(id))?.continuedBy).to.equal(continuedBy)
    expect((await runs.outcome(branch.id)).text).to.equal('nothing')
  })

  it('continue or are cancelled, not both', async () => {
    const [here, there] = [one.runs.of(''), two.runs.of('')]
    for (let round = 0; round < 5; round++) {
      const { id, answers } = await wait(here)
      const [answered] = await Promise.allSettled([here.answer(answers, 'ann'), there.cancel(id)])
      const next = answered.status === 'fulfilled' ? answered.value.continuedBy : null
      expect((await here.find(id))?.continuedBy).to.equal(next)
      if (next === null) expect(await refusalOf(here.answer(answers, 'ann'))).to.equal('APPROVAL_DECIDED')
      else await eventually(async () => expect(['cancelled', 'completed']).to.include((await here.find(next))?.status))
    }
  })

  it('take the same results again when the run that goes on fails before it has called anything', async () => {
    const runs = one.runs.of('')
    const { id, answers } = await wait(runs, 'broken')
    const { continuedBy: first } = await runs.answer(answers, 'ann')
    expect(await refusalOf(runs.outcome(first ?? ''))).to.equal('AGENT_FAILED')
    expect(await runs.find(id)).to.include({ status: 'waiting', continuedBy: null })
    const { continuedBy: second } = await runs.answer(answers, 'ann')
    await runs.outcome(second ?? '')
    expect(await runs.find(id)).to.include({ status: 'completed', continuedBy: second })
  })

  it('take no results again when the run that goes on fails after it has called something', async () => {
    const runs = one.runs.of('')
    const { id, answers } = await wait(runs, 'torn')
    const { continuedBy } = await runs.answer(answers, 'ann')
    expect(await refusalOf(runs.outcome(continuedBy ?? ''))).to.equal('AGENT_FAILED')
    expect(await runs.find(id)).to.include({ status: 'completed', continuedBy })
    expect(await refusalOf(runs.answer(answers, 'ann'))).to.equal('APPROVAL_DECIDED')
  })

  for (const [text, what, status] of [
    ['hang first', 'wait again', 'waiting'],
    ['hang later', 'are spent', 'completed'],
  ] as const) {
    it(`${what} when the run that goes on is aborted ${text === 'hang first' ? 'before' : 'after'} a call`, async () => {
      const runs = one.runs.of('')
      const { id } = await wait(runs, 'torn', text)
      const { open: [asked] = [] } = (await runs.find(id)) ?? {}
      const answer = { ...SUNNY, callId: asked?.call.callId ?? '' } as PendingAnswer
      const heard: string[] = []
      const onEvent = ({ type }: RunEvent) => void heard.push(type)
      const handle = await runs.resume(id, [answer], 'ann', { onEvent })
      if (status === 'completed') await eventually(() => expect(heard).to.include('tool_result'))
      handle.abort(new Error('enough'))
      expect(await refusalOf(handle.result)).to.equal('RUN_ABORTED')
      await eventually(async () => expect(await runs.find(id)).to.include({ status }))
      const next = (await runs.find(id))?.continuedBy
      expect(next && (await runs.find(next))?.status).to.equal(status === 'completed' ? 'cancelled' : null)
    })
  }

  it('are cancelled while they are queued, and never begin', async () => {
    const idle = await open({ noWorker: true })
    try {
      await Promise.all([one.close(), two.close()])
      const runs = idle.runs.of('')
      const { id, status } = await runs.start({ agent: 'tools', messages: [{ role: 'user', content: 'hi' }] })
      expect([status, (await runs.cancel(id))?.status]).to.deep.equal(['queued', 'cancelled'])
      one = await open()
      const next = await one.runs.of('').start({ agent: 'tools', messages: [{ role: 'user', content: 'hi' }] })
      await one.runs.of('').outcome(next.id)
      expect(await runs.find(id)).to.include({ status: 'cancelled', text: '' })
    } finally {
      await idle.close()
    }
  })

  it('go on with a message once they were cancelled, and with no answer', async () => {
    const runs = one.runs.of('')
    const { id, answers } = await wait(runs)
    await runs.cancel(id)
    expect(await refusalOf(runs.answer(answers, 'ann'))).to.equal('APPROVAL_DECIDED')
    const { id: next } = await runs.start({
      agent: 'tools',
      messages: [{ role: 'user', content: 'never mind' }],
      previousId: id,
    })
    expect((await runs.outcome(next)).text).to.equal('nothing')
  })

  it('take a choice of tools as met by the answered step, and keep their variant after a restart', async () => {
    const runs = one.runs.of('')
    const variant = [{ module: 'llm', path: ['mood'], value: 'glad' }]
    const started = await runs.start({
      agent: 'chooser',
      messages: [{ role: 'user', content: 'weather' }],
      clientTools: [WEATHER],
      requestOptions: { toolChoice: 'required' },
      variant,
    })
    const { open: waiting } = await runs.outcome(started.id)
    const later = await open()
    try {
      const { continuedBy } = await later.runs.of('').answer(new Map([[waiting[0]?.id ?? '', SUNNY]]), 'ann')
      const { text, open: left } = await later.runs.of('').outcome(continuedBy ?? '')
      expect([text, left]).to.deep.equal(['glad, choice: none', []])
    } finally {
      await later.close()
    }
  })

  it('keep waiting, and nothing is stored, when an answer or a start is refused', async () => {
    const { id, answers } = await wait(one.runs.of(''))
    const store = await openStore({ store: 'sqlite', dir: folder.path('responses'), projectDir: folder.dir })
    await store.commit([['queued:resp_0', '{"agent":"nobody","attempts":0,"sinceMs":0}']])
    await store.close()
    const full = await open({ maxQueuedRuns: 1 })
    const closing = await open()
    const message = { agent: 'tools', messages: [{ role: 'user' as const, content: 'more' }], previousId: id }
    const before = (await one.runs.of('').find(id))?.open
    const refused = async ({ runs }: OpenedProject) => [
      await refusalOf(runs.of('').answer(answers, 'ann')),
      await refusalOf(runs.of('').start(message)),
    ]
    try {
      expect(await refused(full)).to.deep.equal(['OVERLOADED', 'OVERLOADED'])
      await closing.drain()
      expect(await refused(closing)).to.deep.equal(['SHUTTING_DOWN', 'SHUTTING_DOWN'])
      two.host.unregister('tools')
      expect(await refused(two)).to.deep.equal(['AGENT_NOT_FOUND', 'AGENT_NOT_FOUND'])
      expect(await one.runs.of('').find(id)).to.deep.include({ status: 'waiting', open: before, continuedBy: null })
    } finally {
      await Promise.all([full.close(), closing.close()])
    }
    const { continuedBy } = await one.runs.of('').answer(answers, 'ann')
    expect((await one.runs.of('').outcome(continuedBy ?? '')).text).to.equal('weather: sunny')
  })
})

describe('durable runs', () => {
  it('take no decision beside a message, which would reject it, and nothing that is odd', async () => {
    const files = await makeProject(SHOP_FILES)
    const project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
    const runs = project.runs.of('')
    const { runId, pending } = await project.run('shop', 'please')
    const approve = { callId: pending[0]?.callId ?? '', kind: 'approval', decision: 'approve' } as const
    const messages = [{ role: 'user' as const, content: 'and then?' }]
    const previousId = `resp_${runId}`
    const slot = project.host.reserve('shop', false)
    const refused = [
      runs.begin({ agent: 'shop', messages, previousId, answers: [approve] }),
      runs.once('key', {}, undefined as never),
      runs.once('key', {}, { first: async () => 1 } as never),
      project.run('shop', 'please', { tenant: '\ud800' }),
      (async () => project.runs.of('\ud800'))(),
      slot.vary(5 as never),
    ]
    expect(await Promise.all(refused.map((work) => work.catch(({ code, field }) => [code, field])))).to.deep.equal([
      ['REQUEST_INVALID', 'answers'],
      ['REQUEST_INVALID', 'answers'],
      ['REQUEST_INVALID', 'answers.again'],
      ['REQUEST_INVALID', 'options.tenant'],
      ['REQUEST_INVALID', 'tenant'],
      ['REQUEST_INVALID', 'variant'],
    ])
    slot.release()
    expect((await runs.listWaiting()).waiting.map((one) => one.runId)).to.deep.equal([previousId])
    await (await runs.begin({ agent: 'shop', messages: [], previousId, answers: [approve] })).result
    expect(await files.read('paid.txt')).to.equal('pay 40\n')
    await project.close()
  })

  it('take nothing from a request but its fields: no id, no changes of the store, no limits of another', async () => {
    const files = await makeProject(SHOP_FILES)
    const project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
    const runs = project.runs.of('')
    const { runId } = await project.run('shop', 'please')
    const id = `resp_${runId}`
    const before = [await runs.find(id), await runs.listWaiting()]
    const [{ id: approval } = { id: '' }] = (await runs.find(id))?.open ?? []
    const claim = {
      changes: [
        [`approval:${approval}`, undefined],
        [`open-approval:${approval}`, undefined],
      ],
      equal: [],
    }
    const messages = [{ role: 'user' as const, content: 'please' }]
    for (const more of [{ id }, { id: 7 }, { claim }, { key: 7, named: { head: id } }, { other: 1n }]) {
      const request = { agent: 'shop', messages, ...more }
      await runs.outcome((await runs.start(request)).id)
      await (await runs.begin(request)).result
      const result = await project.host.run('shop', 'please')
      await runs.keep({ agent: 'shop', messages, ...more, id: undefined, result } as never)
      const { waiting } = await runs.listWaiting()
      expect([await runs.find(id), { waiting: waiting.slice(0, 1), hasMore: false }]).to.deep.equal(before)
    }
    for (const idempotency of [{}, { hash: 'a', body: 'b' }, { hash: 'a', body: 'b', atMs: 'now' }]) {
      const request = { agent: 'shop', messages, idempotency } as never
      const refused = [runs.start(request), runs.begin(request)].map((run) => run.catch(({ code }) => code))
      expect(await Promise.all(refused)).to.deep.equal(['REQUEST_INVALID', 'REQUEST_INVALID'])
    }
    await project.close()
  })
})
