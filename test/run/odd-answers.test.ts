import { type OpenedProject, openProject } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { closeServers, makeServer } from '../support/server.ts'
import { SHOP_FILES } from '../support/shop.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const WORDS = ['rejected', 'deny', 'APPROVE', 'approved', '', null, undefined, 0, true, {}, ['approve']]
const kind = 'approval'

/** Answers to a call that waits for an approval, none of which is one. */
const ODD_ANSWERS: readonly unknown[] = [
  ...WORDS.map((decision) => ({ kind, decision })),
  ...[undefined, null, 0, '', 'approve', true, [], {}, () => {}, Symbol('approve'), new Map([['decision', 'approve']])],
  Object.create({ kind, decision: 'approve' }),
  { kind: 'question', answers: ['approve'] },
  { kind: 'client_tool', result: { text: 'approve' } },
  { kind: null, decision: 'approve' },
  { decision: 'approve' },
  { kind, decision: 'approve', arguments: {} },
  { kind, decision: 'approve', arguments: null },
  { kind, decision: 'reject', arguments: { amount: 5 } },
  { kind, decision: 'edit' },
  { kind, decision: 'edit', arguments: null },
  { kind, decision: 'edit', arguments: 'all' },
  { kind, decision: 'edit', arguments: [] },
  { kind, decision: 'reject', reason: 5 },
  { kind, decision: 'edit', arguments: { amount: 5, more: 1n } },
  { kind, decision: 'approve', more: 1n },
]
/** Values that are no list, and no map. */
const NO_COLLECTIONS: readonly unknown[] = [undefined, null, 0, 'approve', true, {}, new Set(), new Date()]

/** Answers of which the order would decide: whichever counted, another door might take the other. */
const contradictions = (callId: string): readonly (readonly object[])[] => {
  const [reject, approve] = ['reject', 'approve'].map((decision) => ({ callId, kind, decision })) as [object, object]
  return [
    [reject, approve],
    [approve, reject],
    [approve, approve],
  ]
}

type Give = (answer: unknown) => Promise<unknown>

describe('an odd answer to an approval', () => {
  afterEach(closeServers)

  async function open() {
    const files = await makeProject(SHOP_FILES)
    const project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
    const { runId, pending, trail } = await project.run('shop', 'please')
    const runs = project.runs.of('')
    const info = await runs.find(`resp_${runId}`)
    const { id = '', call } = info?.open[0] ?? {}
    const { callId } = call ?? { callId: '' }
    return { files, project, runs, runId, id, callId, value: { runId, agent: 'shop', pending, trail, options: {} } }
  }
  type Opened = Awaited<ReturnType<typeof open>>

  const withId = (answer: unknown, callId: string) =>
    typeof answer === 'object' && answer !== null
      ? Object.assign(Object.create(Object.getPrototypeOf(answer)), answer, { callId })
      : answer
  const DOORS: Readonly<Record<string, readonly [list: (opened: Opened) => Give, all: (opened: Opened) => Give]>> = {
    'host.resume': [
      ({ project, value, callId }) =>
        async (answer) =>
          project.host.resume(value, [withId(answer, callId)]),
      ({ project, value }) =>
        async (answers) =>
          project.host.resume(value, answers as never),
    ],
    'project.resume': [
      ({ project, runId, callId }) =>
        async (answer) =>
          project.resume(runId, [withId(answer, callId)]),
      ({ project, runId }) =>
        async (answers) =>
          project.resume(runId, answers as never),
    ],
    'runs.resume': [
      ({ runs, runId, callId }) =>
        async (answer) =>
          runs.resume(`resp_${runId}`, [withId(answer, callId)], 'me'),
      ({ runs, runId }) =>
        async (answers) =>
          runs.resume(`resp_${runId}`, answers as never, 'me'),
    ],
    'runs.answer': [
      ({ runs, id }) =>
        async (answer) =>
          runs.answer(new Map([[id, answer as never]]), 'me'),
      ({ runs }) =>
        async (answers) =>
          runs.answer(answers as never, 'me'),
    ],
  }

  async function expectUntouched(files: TempProject, { runs }: OpenedProject, runId: string): Promise<void> {
    expect(files.exists('paid.txt')).to.equal(false)
    const { waiting } = await runs.of('').listWaiting()
    expect(waiting.map((one) => one.runId)).to.deep.equal([`resp_${runId}`])
  }

  for (const [name, [one, all]] of Object.entries(DOORS)) {
    it(`${name}: REQUEST_INVALID, nothing is executed, and the call waits for a true answer, which counts once`, async () => {
      const opened = await open()
      const { files, project, runId } = opened
      const given = [
        ...ODD_ANSWERS.map((answer) => [one(opened), answer] as const),
        ...NO_COLLECTIONS.map((answers) => [all(opened), answers] as const),
        ...contradictions(opened.callId).map((answers) => [all(opened), answers] as const),
      ]
      const wrong: unknown[] = []
      for (const [give, answer] of given) {
        const outcome = await give(answer).then(
          () => 'taken',
          (error) => error.code ?? String(error),
        )
        if (outcome !== 'REQUEST_INVALID') wrong.push([answer, outcome])
      }
      expect(wrong).to.deep.equal([])
      await expectUntouched(files, project, runId)
      await one(opened)({ kind, decision: 'approve' })
      await eventually(async () => expect(await files.read('paid.txt')).to.equal('pay 40\n'))
      await project.close()
    })
  }

  it('is not taken from the options of host.resume, which are those of this process alone', async () => {
    const { files, project, value, callId } = await open()
    const answers = [{ callId, kind, decision: 'reject' }] as const
    const approved = [{ callId, kind, decision: 'approve' }]
    for (const more of [
      { answers: approved },
      { pending: [] },
      { messages: [] },
      { tenant: 'other', answersTo: 'x' },
    ]) {
      const { status } = await project.host.resume(value, answers, more as never)
      expect([status, files.exists('paid.txt')]).to.deep.equal(['completed', false])
    }
    await project.close()
  })

  it('is not taken by value either: of an unknown kind, or twice, and the call does not begin', async () => {
    const { files, project, value, callId } = await open()
    const approve = { callId, kind, decision: 'approve' }
    for (const answers of [
      [{ callId, kind: 'decision', decision: 'reject' }],
      [{ callId, decision: 'reject' }],
      [approve, approve],
    ]) {
      for (const pending of [undefined, value.pending]) {
        const options = { answers, pending } as never
        const refused = await project.host.run('shop', value.trail, options).catch((error) => error.code)
        expect(refused).to.equal('REQUEST_INVALID')
      }
    }
    expect(files.exists('paid.txt')).to.equal(false)
    await project.close()
  })

  it('to a question: whatever stands before the last answer, which fits the schema, does not reach the tool', async () => {
    const files = await makeProject({
      'agents/clerk.yml': 'id: clerk\nmodules: [{ id: tools, module: clerk }, { id: main, module: caller }]',
      'modules/clerk.ts': `import { defineModule, ToolProvider } from 'agent-host'
        const ask = (run, message) => run.ask({ message, schema: { type: 'integer' } })
        export default defineModule({ name: 'Clerk', provides: [ToolProvider], create: () => ({
          listTools: () => [{ name: 'measure', description: '', parameters: { type: 'object' } }],
          executeTool: async (_name, _args, run) => ({ text: JSON.stringify([await ask(run, 'Width?'), await ask(run, 'Height?')]) }) }) })`,
      'modules/caller.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
        export default defineModule({ name: 'Caller', provides: [TextMessageHandler], uses: { tools: ToolProvider, response: Response, history: ConversationHistory },
          create: ({ tools, response, history }) => ({ async handleText(_text, run) {
            const results = (await history.getHistory(run)).filter(({ role }) => role === 'tool')
            await response.respondText(results[0]?.content ?? (await tools.executeTool('measure', {}, run)).text) } }) })`,
    })
    const project = await openProject({ projectDir: files.dir, logLevel: 'silent', drainTimeout: 0 })
    const runs = project.runs.of('')
    const question = (callId: string, answers: readonly unknown[]) => ({ callId, kind: 'question' as const, answers })
    const doors: Readonly<
      Record<string, (runId: string, callId: string, answers: readonly unknown[]) => Promise<string>>
    > = {
      'project.resume': async (runId, callId, answers) =>
        (await project.resume(runId, [question(callId, answers)])).runId,
      'runs.resume': async (runId, callId, answers) => {
        const { result } = await runs.resume(`resp_${runId}`, [question(callId, answers)], 'me')
        return (await result).runId
      },
      'runs.answer': async (runId, _callId, answers) => {
        const [open] = (await runs.find(`resp_${runId}`))?.open ?? []
        const answered = await runs.answer(new Map([[open?.id ?? '', { kind: 'question', answers }]]), 'me')
        await runs.outcome(answered.continuedBy ?? '')
        return (answered.continuedBy ?? '').slice('resp_'.length)
      },
    }
    const texts: unknown[] = []
    for (const answer of Object.values(doors)) {
      const { runId, pending } = await project.run('clerk', 'go')
      const callId = pending[0]?.callId ?? ''
      const second = await answer(runId, callId, ['evil', 2])
      const last = await answer(second, callId, ['evil', 3])
      texts.push((await runs.find(`resp_${last}`))?.text)
    }
    expect(texts).to.deep.equal(['[2,3]', '[2,3]', '[2,3]'])
    await project.close()
  })

  it('the inbox and responses: 400, nothing is executed, and the call waits', async () => {
    const { app, project } = await makeServer({ adapters: ['ResponsesCompatApiAdapter'] }, SHOP_FILES)
    const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload })
    const { id, output } = (await post('/compat/responses', { model: 'shop', input: 'please' })).json()
    const [approval] = output
    const odd = [
      ...WORDS.map((decision) => ({ decision })),
      { decision: 'approve', arguments: {} },
      { decision: 'edit' },
      { answer: 'approve' },
    ]
    const inbox = await Promise.all(odd.map((body) => post(`/compat/approvals/${approval.id}`, body)))
    const items = [...WORDS.map((approve) => ({ approve })), {}].filter(
      ({ approve }: { approve?: unknown }) => approve !== true,
    )
    const responses = await Promise.all(
      items.map((item) => {
        const input = [{ type: 'mcp_approval_response', approval_request_id: approval.id, ...item }]
        return post('/compat/responses', { model: 'shop', previous_response_id: id, input })
      }),
    )
    expect([...inbox, ...responses].map(({ statusCode }) => statusCode)).to.deep.equal(
      Array(odd.length + items.length).fill(400),
    )
    expect(project.exists('paid.txt')).to.equal(false)
    const { data } = (await app.inject('/compat/approvals?status=pending')).json()
    expect(data.map((each: { id: string }) => each.id)).to.deep.equal([approval.id])
  })
})
