import type { Message, PendingAnswer, PendingCall } from 'agent-host'
import { expect } from 'chai'
import type { Before } from '../../../src/durable/continuation/before.ts'
import { carriedOn, type Given, next, type SightRules, see } from '../../../src/durable/continuation/next.ts'
import { makeTurn, withOutcome } from '../../../src/durable/conversations/conversation-tree.ts'
import { HostError } from '../../../src/errors.ts'
import { makeFacts } from '../../support/run-facts.ts'

const RULES: SightRules = {
  limits: { maxHistoryItems: 100, maxHistoryMb: 1, maxHistoryTurns: 100 },
  attachments: [],
}
const WEATHER: PendingCall = { callId: 'w1', kind: 'client_tool', name: 'weather', arguments: {}, runId: 'run-1' }
const PAY: PendingCall = { callId: 'c1', kind: 'approval', name: 'pay', arguments: {}, runId: 'run-1' }
const SUNNY: PendingAnswer = { callId: 'w1', kind: 'client_tool', result: { text: 'sunny' } }
const CALLS: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'w1', name: 'weather', arguments: {} }] }
const RESULT: Message = { role: 'tool', content: 'sunny', toolCallId: 'w1' }
const user = (content: string): Message => ({ role: 'user', content })
const TOOL = { name: 'weather', description: 'Tells it.', parameters: { type: 'object' } }

const given = (more: Partial<Given> = {}): Given => {
  const { adapter, agent, createdAt, options, data } = makeFacts()
  return { id: 'resp_2', tenant: 'acme', by: 'ann', messages: [], adapter, agent, createdAt, options, data, ...more }
}

/** A run that has ended, waiting for these calls. */
function before(pending: readonly PendingCall[], more: Partial<Before> = {}): Before {
  const asked = user('weather?')
  const turn = makeTurn('resp_1', 1_800_000_000, [asked], undefined)
  const last = withOutcome(turn, { messages: [CALLS], pending })
  const facts = makeFacts({ options: { variant: [{ module: 'llm', path: ['mood'], value: 'glad' }] } })
  return { conversation: { messages: [asked, CALLS], last }, facts, approvals: [], ...more } as Before
}

/** The next run, with its turn made. */
function run(...given: Parameters<typeof next>) {
  const { draft, turn } = next(...given)
  const { makeTurn: make, ...rest } = draft
  return { draft: { ...rest, turn: make() }, turn }
}

const codeOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return error instanceof HostError ? error.code : String(error)
  }
  return undefined
}

describe('the next run of a conversation', () => {
  it('begins one, with nothing that it does not need', () => {
    const { draft, turn } = run(undefined, given({ messages: [user('hi')] }), RULES)
    expect(draft).to.deep.equal({
      id: 'resp_2',
      facts: {
        ...makeFacts(),
        conversation: undefined,
        firstId: undefined,
        isUnasked: undefined,
        key: undefined,
        own: undefined,
      },
      items: [],
      turn: {
        version: draft.turn.version,
        response_id: 'resp_2',
        previous_response_id: null,
        created_at: 1_800_000_000,
        conversation_data: { messages: [user('hi')] },
        block: [],
        block_before: null,
      },
      earlier: [],
      idempotency: undefined,
      claim: undefined,
      resumes: undefined,
    })
    const { messages, answers, pending, tenant, answersTo } = turn
    expect({ messages, answers, pending, tenant, answersTo }).to.deep.equal({
      messages: [user('hi')],
      answers: undefined,
      pending: [],
      tenant: 'acme',
      answersTo: undefined,
    })
  })

  it('keeps the tools and the conversation of its client, and the input as it came', () => {
    const named = { id: 'conv_1', head: 'resp_1', tools: [] } as unknown as NonNullable<Given['named']>
    const asked = given({ messages: [user('hi')], tools: [TOOL], items: ['hi'], isTrailLost: true, named })
    const { draft, turn } = run(undefined, asked, RULES)
    expect([draft.turn.tools, draft.turn.conversation, draft.items]).to.deep.equal([[TOOL], 'conv_1', ['hi']])
    expect([draft.facts.conversation, turn.isTrailLost]).to.deep.equal(['conv_1', true])
    expect(draft.claim?.changes).to.be.an('array')
    const bare = run(undefined, given({ messages: [user('hi')], tools: [TOOL] }), RULES).draft.turn
    expect(bare)
      .to.deep.include({ tools: [TOOL] })
      .and.not.have.property('conversation')
  })

  it('goes on with the answers to its open calls, and keeps them', () => {
    const { draft, turn } = run(before([WEATHER]), given({ answers: [SUNNY] }), RULES)
    expect(draft.turn).to.deep.include({ pending: [WEATHER], previous_response_id: 'resp_1' })
    expect(draft.turn.answers).to.have.lengthOf(1)
    expect(draft.turn.conversation_data.messages).to.deep.equal([])
    expect([draft.claim, draft.resumes]).to.deep.equal([undefined, undefined])
    expect(draft.earlier).to.deep.equal([user('weather?'), CALLS])
    expect([turn.messages, turn.answers, turn.pending]).to.deep.equal([[user('weather?'), CALLS], [SUNNY], [WEATHER]])
    // It is the variant that waits.
    expect([turn.variant?.[0]?.value, turn.answersTo]).to.deep.equal(['glad', undefined])
  })

  it('is the only one that goes on where only one may', () => {
    const { draft } = run(before([WEATHER]), given({ answers: [SUNNY], isOnce: true }), RULES)
    expect(draft.resumes).to.deep.equal({ runId: 'resp_1', approvals: [] })
    const claimed = draft.claim?.changes ?? []
    expect(claimed).to.not.deep.equal([])
    const named = { id: 'conv_1', head: 'resp_1', tools: [] } as unknown as NonNullable<Given['named']>
    const joined = run(before([WEATHER]), given({ answers: [SUNNY], isOnce: true, named }), RULES).draft.claim
    expect(joined?.changes.slice(0, claimed.length)).to.deep.equal(claimed)
    expect(joined?.changes.length).to.be.above(claimed.length)
    for (const continuedBy of ['resp_3', null])
      expect(
        codeOf(() => run(before([WEATHER], { continuedBy }), given({ answers: [SUNNY], isOnce: true }), RULES)),
      ).to.equal('APPROVAL_DECIDED')
    const branch = run(
      before([WEATHER], { continuedBy: 'resp_3' }),
      given({ messages: [user('no')], isOnce: true }),
      RULES,
    )
    expect(branch.draft.claim).to.equal(undefined)
  })

  it('takes outputs of its client alone where the approvals of the other calls are deleted', () => {
    const both = before([WEATHER, PAY])
    const { draft, turn } = run(both, given({ answers: [SUNNY] }), RULES)
    expect([draft.claim, turn.answers]).to.deep.equal([undefined, [SUNNY]])
    const answers: PendingAnswer[] = [SUNNY, { callId: 'c1', kind: 'approval', decision: 'approve' }]
    expect(codeOf(() => run(both, given({ answers }), RULES))).to.equal('APPROVAL_NOT_FOUND')
  })

  it('goes on with answers to a turn whose run is deleted', () => {
    const { turn } = run(before([WEATHER], { facts: undefined }), given({ answers: [SUNNY] }), RULES)
    expect([turn.answers, turn.variant]).to.deep.equal([[SUNNY], undefined])
  })

  it('begins with a message in the place of the answers: what was open has a result', () => {
    const { draft, turn } = run(before([WEATHER]), given({ messages: [user('never mind')], answers: [SUNNY] }), RULES)
    expect(draft.turn.conversation_data.messages).to.deep.equal([RESULT, user('never mind')])
    expect(draft.turn).to.not.have.any.keys('pending', 'answers')
    expect(turn.messages).to.deep.equal([user('weather?'), CALLS, RESULT, user('never mind')])
    expect([turn.answers, turn.pending, turn.variant]).to.deep.equal([undefined, [], undefined])
    expect([draft.facts.options.answersTo, turn.answersTo]).to.deep.equal(['run-1', 'run-1'])
  })

  it('follows a run that waits for nothing', () => {
    const { draft, turn } = run(before([]), given({ messages: [user('more')] }), RULES)
    expect(draft.facts.previousId).to.equal('resp_1')
    expect(draft.facts.options).to.deep.equal({})
    expect(turn.messages).to.deep.equal([user('weather?'), CALLS, user('more')])
  })
})

describe('a conversation as its agent sees it', () => {
  const limits = { maxHistoryItems: 3, maxHistoryMb: 1, maxHistoryTurns: 100 }
  const long = [user('one'), { role: 'assistant', content: '1' } as const, user('weather?'), CALLS]

  it('is cut where its client allows that, and keeps calls that are open', () => {
    const rules = { limits, attachments: [] }
    expect(see(long, [WEATHER], { options: {} }, rules)).to.deep.equal(long)
    expect(see(long, [WEATHER], { options: { isTruncated: true } }, rules)).to.deep.equal(long.slice(1))
    const beside = [{ ...WEATHER, callId: 'c1', beside: [{ call: WEATHER, answer: SUNNY as never }] }]
    expect(see(long, beside, { options: { isTruncated: true } }, rules)).to.deep.equal(long.slice(1))
    expect(see(long, [], { options: { isTruncated: true } }, rules)).to.deep.equal(long.slice(1, 3))
  })
})

describe('what a run takes over from the one that waits', () => {
  it('is all but a choice of tools and what it answered; it shows calls, and needs no client', () => {
    const options = {
      requestOptions: { toolChoice: 'required', temperature: 1 },
      answersTo: 'run-0',
      instructions: 'Be brief.',
      shows: ['text', 'reasoning'],
    } as const
    const { adapter, agent, data } = makeFacts()
    expect(carriedOn(makeFacts({ options }))).to.deep.equal({
      adapter,
      agent,
      data,
      key: undefined,
      options: {
        requestOptions: { temperature: 1 },
        instructions: 'Be brief.',
        shows: ['text', 'reasoning', 'attachment', 'pending', 'tool_call', 'tool_result'],
      },
    })
    expect(carriedOn(makeFacts()).options).to.deep.equal({
      requestOptions: {},
      shows: ['text', 'attachment', 'pending', 'tool_call', 'tool_result'],
    })
  })
})
