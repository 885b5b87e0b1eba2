import { type OpenedProject, openProject, type PendingAnswer } from 'agent-host'
import { expect } from 'chai'
import { HostError } from '../../src/errors.ts'
import { CheckedStore } from '../../src/store/checked-store.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const FILES = {
  'agents/shop.yml': `id: shop
modules:
  - { id: llm, module: llm/mock, scope: agent, config: { replies: [{ text: '', tool_calls: [{ name: pay, arguments: { euros: 5 } }] }, Done.] } }
  - { id: tools, module: tools/local, config: { files: [tools/pay.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/both.yml': `id: both
modules:
  - { id: tools, module: tools/local, config: { files: [tools/pay.ts], approval: never } }
  - { id: main, module: both }`,
  'modules/both.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Both', provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools: [tools, client], history, response }) => ({ async handleText(_, run) {
    const pay = (euros) => tools.executeTool('pay', { euros }, run.with({ toolCallId: 'call_' + euros }))
    const isSigned = (await history.getHistory()).some(({ role }) => role === 'tool')
    if (!isSigned) return void (await client.executeTool('sign', {}, run.with({ toolCallId: 'call_0' })))
    for (const { text } of await Promise.all([pay(5), pay(6)])) await response.respondText(text + '. ')
  } }) })`,
  'tools/pay.ts': `import { defineTool, Type } from 'agent-host'
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({ euros: Type.Number() }), needsApproval: true,
  execute: ({ euros }) => { (globalThis.paidEuros ??= []).push(euros); return 'paid ' + euros } })`,
}

describe('runs of an opened project that wait', () => {
  const paid = () => ((globalThis as { paidEuros?: number[] }).paidEuros ??= [])
  let opened: OpenedProject[]
  let dir: string

  beforeEach(async () => {
    dir = (await makeProject(FILES)).dir
    opened = []
    paid().length = 0
  })
  afterEach(async () => {
    for (const project of opened) await project.close()
  })

  async function open(): Promise<OpenedProject> {
    const project = await openProject({ projectDir: dir, logLevel: 'silent', drainTimeout: 0 })
    opened.push(project)
    return project
  }
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'no failure',
      ({ code }) => code,
    )
  const approve = (callId = ''): PendingAnswer[] => [{ callId, kind: 'approval', decision: 'approve' }]

  it('are stored, reported to listeners, and resumed by id, even by another process', async () => {
    const first = await open()
    const heard: unknown[] = []
    first.onWaiting((waiting) => void heard.push(waiting))
    const { runId, status, pending } = await first.run('shop', 'pay')
    expect([status, heard]).to.deep.equal(['waiting', [{ runId, agent: 'shop', pending }]])
    await first.close()
    const second = await open()
    expect(await second.listWaiting()).to.deep.equal(JSON.parse(JSON.stringify(heard)))
    const ended = await second.resume(runId, approve(pending[0]?.callId))
    // The model of the second process begins again with its first reply: the same call, which needs a decision of its own.
    expect([ended.status, paid()]).to.deep.equal(['waiting', [5]])
    expect((await second.listWaiting()).map(({ runId: id }) => id)).to.deep.equal([ended.runId])
  })

  it('are resumed once: the second attempt fails', async () => {
    const project = await open()
    const { runId, pending } = await project.run('shop', 'pay')
    const answers = approve(pending[0]?.callId)
    const outcomes = await Promise.all([0, 1].map(() => failure(project.resume(runId, answers))))
    expect(outcomes.sort()).to.deep.equal(['RUN_NOT_WAITING', 'no failure'])
    expect(await failure(project.resume(runId, answers))).to.equal('RUN_NOT_WAITING')
    expect(paid()).to.deep.equal([5])
  })

  it('run calls that begin together', async () => {
    const project = await open()
    const clientTools = [{ name: 'sign', description: 'Signs.', parameters: { type: 'object' } }] as const
    const { runId } = await project.run('both', 'pay', { clientTools })
    const { text } = await project.resume(runId, [
      { callId: 'call_0', kind: 'client_tool', result: { text: 'signed' } },
    ])
    expect([text, paid()]).to.deep.equal(['paid 5. paid 6. ', [5, 6]])
  })

  it('wait again where the store fails before a call has begun, and pay once when it is back', async () => {
    const project = await open()
    const { runId, pending } = await project.run('shop', 'pay')
    const answers = approve(pending[0]?.callId)
    const { commit } = CheckedStore.prototype
    let commits = 0
    CheckedStore.prototype.commit = function (...changes) {
      if (commits++ > 0) throw new HostError('STORE_UNAVAILABLE', 'The disk is full.')
      return commit.apply(this, changes)
    }
    try {
      expect(await failure(project.resume(runId, answers))).to.equal('STORE_UNAVAILABLE')
    } finally {
      CheckedStore.prototype.commit = commit
    }
    expect([commits, paid()]).to.deep.equal([2, []])
    await eventually(
      async () => expect((await project.listWaiting()).map((run) => run.runId)).to.deep.equal([runId]),
      5000,
    )
    await project.resume(runId, answers)
    expect(paid()).to.deep.equal([5])
  })

  it('accept rejections and edits; an invalid answer leaves them waiting', async () => {
    const project = await open()
    const { runId, pending } = await project.run('shop', 'pay')
    const callId = pending[0]?.callId ?? ''
    const edit = (args: object) => [{ callId, kind: 'approval', decision: 'edit', arguments: { ...args } }] as const
    expect(await failure(project.resume(runId, edit({ euros: 'lots' })))).to.equal('REQUEST_INVALID')
    expect(await failure(project.resume(runId, approve('other')))).to.equal('REQUEST_INVALID')
    await project.resume(runId, edit({ euros: 2 }))
    expect(paid()).to.deep.equal([2])
    const other = await project.run('shop', 'pay')
    if (other.status === 'waiting') {
      await project.resume(other.runId, [
        { callId: other.pending[0]?.callId ?? '', kind: 'approval', decision: 'reject', reason: 'no' },
      ])
    }
    expect(paid()).to.deep.equal([2])
  })
})
