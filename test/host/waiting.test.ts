import { AgentHost, type PendingAnswer, type ResumableRun } from 'agent-host'
import { expect } from 'chai'
import { VISITS } from '../../src/host/host.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { makeProject } from '../support/temp-project.ts'

const FILES = { ...SHOP_MODULES, 'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 5 } }') }

describe('waiting runs of a host', () => {
  let host: AgentHost
  let heard: ResumableRun[]

  beforeEach(async () => {
    const { dir } = await makeProject(FILES)
    host = new AgentHost({ projectDir: dir })
    await host.register(FILES['agents/shop.yml'])
    heard = []
    host.onWaiting((waiting) => heard.push(waiting))
  })
  afterEach(() => host.close(0))

  const answer = (callId: string, decision: 'approve' | 'reject'): PendingAnswer => ({
    callId,
    kind: 'approval',
    decision,
  })

  it('are passed to listeners as values, which can be resumed with answers', async () => {
    const { runId, pending } = await host.run('shop', 'please', { user: 'ann', metadata: { order: 7 } })
    const [waiting] = heard as [ResumableRun]
    expect([waiting.runId, waiting.agent, waiting.pending]).to.deep.equal([runId, 'shop', pending])
    expect(waiting.options).to.deep.include({ user: 'ann', metadata: { order: 7 } })
    const { status, text } = await host.resume(waiting, [answer(pending[0]?.callId ?? '', 'approve')])
    expect([status, text]).to.deep.equal(['completed', 'Results: pay 5'])
    expect(heard).to.have.lengthOf(1)
  })

  it('keep the user of the visit that began them, whoever answers', async () => {
    const users = new Set<string | null>()
    host.onEvent(({ user }) => users.add(user))
    const visitOf = <T>(user: string, work: () => T) => host[VISITS].enter({ sees: undefined, user }, work)
    await visitOf('ann', () => host.run('shop', 'please', { user: 'eve' }))
    const [waiting] = heard as [ResumableRun]
    expect(waiting.options.user).to.equal('ann')
    // Another version asks again.
    await host.replace(
      'shop',
      shopAgent('shop', '{ name: pay, arguments: { amount: 5 } }', 'description: Another shop'),
    )
    const [{ callId = '' } = {}] = waiting.pending
    const again = await visitOf('bob', () => host.resume(waiting, [answer(callId, 'approve')]))
    const [, later] = heard as [ResumableRun, ResumableRun]
    expect([later.runId, later.options.user]).to.deep.equal([again.runId, 'ann'])
    const { text } = await visitOf('bob', () => host.resume(later, [answer(later.pending[0]?.callId ?? '', 'approve')]))
    expect([text, ...users]).to.deep.equal(['Results: pay 5', 'ann'])
  })

  it('are bound to the version of the agent: another version asks again', async () => {
    await host.run('shop', 'please')
    const [waiting] = heard as [ResumableRun]
    const changed = shopAgent('shop', '{ name: pay, arguments: { amount: 5 } }', 'description: Another shop')
    await host.replace('shop', changed)
    const again = await host.resume(waiting, [answer(waiting.pending[0]?.callId ?? '', 'approve')])
    expect([again.status, heard.length]).to.deep.equal(['waiting', 2])
    const { text } = await host.resume(heard[1] as ResumableRun, [answer(again.pending[0]?.callId ?? '', 'approve')])
    expect(text).to.equal('Results: pay 5')
  })

  it('reject invalid and missing answers', async () => {
    await host.run('shop', 'please')
    const [waiting] = heard as [ResumableRun]
    for (const answers of [[], [answer('other', 'approve')]]) {
      const error = await host.resume(waiting, answers).catch((thrown) => thrown)
      expect(error.code).to.equal('REQUEST_INVALID')
    }
  })

  for (const [title, odd] of Object.entries({
    'another word': { decision: 'rejected' },
    'a word in capitals': { decision: 'APPROVE' },
    'a list with the word': { decision: ['approve'] },
    'no word': { decision: undefined },
    null: { decision: null },
    'arguments that the decision does not take': { decision: 'approve', arguments: { amount: 6 } },
    'arguments that the tool does not take': { decision: 'edit', arguments: { amount: 'all' } },
    'no arguments to an edit': { decision: 'edit' },
    'the kind of a question': { kind: 'question', answers: ['yes'] },
    'no kind': { kind: undefined, decision: 'approve' },
    'an approval that it got from a prototype': Object.create({ decision: 'approve' }),
  })) {
    it(`execute nothing for ${title}`, async () => {
      await host.run('shop', 'please')
      const [waiting] = heard as [ResumableRun]
      const callId = waiting.pending[0]?.callId ?? ''
      const given = Object.assign(odd, { callId, kind: 'kind' in odd ? odd.kind : 'approval' })
      const error = await host.resume(waiting, [given as never]).catch((thrown) => thrown)
      expect([error.code, heard.length]).to.deep.equal(['REQUEST_INVALID', 1])
      const { text } = await host.resume(waiting, [answer(callId, 'approve')])
      expect(text).to.equal('Results: pay 5')
    })
  }
})
