import type { PendingAnswer, PendingCall } from 'agent-host'
import { expect } from 'chai'
import { CheckTime } from '../../../src/run/checks/check-time.ts'
import { bindAnswer, stateOf } from '../../../src/run/waiting/pending-call.ts'
import { findAnswerProblem, withKeptAnswers } from '../../../src/run/waiting/settle-answers.ts'

const SCHEMA = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const PAY: PendingCall = { callId: 'c1', kind: 'approval', name: 'pay', arguments: { amount: 1 }, schema: SCHEMA }
const ASK: PendingCall = { callId: 'c2', kind: 'question', name: 'ask', arguments: {}, schema: { type: 'number' } }
const WEATHER: PendingCall = { callId: 'c3', kind: 'client_tool', name: 'weather', arguments: {} }
const SIGN_IN: PendingCall = {
  callId: 'c4',
  kind: 'question',
  name: 'sign_in',
  arguments: {},
  url: 'https://id.test/?state=s1',
}

const problemOf = (pending: PendingCall, answer: object) =>
  findAnswerProblem(
    pending,
    { callId: pending.callId, kind: pending.kind, ...answer } as PendingAnswer,
    new CheckTime(),
  )

describe('an answer', () => {
  it('is of the kind that its call waits for', () => {
    expect(problemOf(PAY, { kind: 'question', answers: [1] })).to.equal("The call 'c1' waits for a decision.")
    expect(problemOf(ASK, { kind: 'approval', decision: 'approve' })).to.equal("The call 'c2' waits for an answer.")
    expect(problemOf(WEATHER, { kind: 'approval', decision: 'approve' })).to.equal(
      "The call 'c3' waits for the output of a tool.",
    )
  })

  it('to an approval is one of three words; arguments go with edit, and fit the schema', () => {
    for (const decision of ['approve', 'reject']) {
      expect(problemOf(PAY, { decision })).to.equal(undefined)
      expect(problemOf(PAY, { decision, arguments: { amount: 2 } })).to.equal(
        "arguments go with 'edit', and with nothing else.",
      )
    }
    for (const decision of [undefined, null, 'denied', true])
      expect(problemOf(PAY, { decision })).to.equal("decision must be 'approve', 'edit' or 'reject'.")
    expect(problemOf(PAY, { decision: 'edit' })).to.equal("arguments go with 'edit', and with nothing else.")
    for (const edited of [null, 'x', [1]])
      expect(problemOf(PAY, { decision: 'edit', arguments: edited })).to.equal('arguments must be an object.')
    expect(problemOf(PAY, { decision: 'edit', arguments: { amount: 2 } })).to.equal(undefined)
    expect(problemOf(PAY, { decision: 'edit', arguments: { amount: 'x' } })).to.equal('amount must be a number.')
    const { schema: _schema, ...free } = PAY
    expect(problemOf(free, { decision: 'edit', arguments: { amount: 'x' } })).to.equal(undefined)
    expect(problemOf(PAY, { decision: 'reject', reason: 'no' })).to.equal(undefined)
    expect(problemOf(PAY, { decision: 'reject', reason: 1 })).to.equal('reason must be a string.')
  })

  it('to a question fits its schema, the last one', () => {
    for (const answers of [undefined, 'x', []]) expect(problemOf(ASK, { answers })).to.equal('answers must hold one.')
    expect(problemOf(ASK, { answers: ['x', 1] })).to.equal(undefined)
    expect(problemOf(ASK, { answers: [1, 'x'] })).to.be.a('string')
    const { schema: _schema, ...free } = ASK
    expect(problemOf(free, { answers: [{}] })).to.equal(undefined)
    expect(problemOf(free, { answers: [1, undefined] })).to.equal('answers must hold one.')
    const textless = { toString: null, valueOf: null }
    expect(problemOf(free, { answers: [textless] })).to.equal(undefined)
    expect(problemOf(ASK, { answers: [textless] })).to.be.a('string')
  })

  it('from another site has the state of its question, in an address or a query', () => {
    expect(stateOf(SIGN_IN)).to.equal('s1')
    expect(stateOf({})).to.equal(undefined)
    expect(stateOf({ url: 'no address' })).to.equal(undefined)
    expect(stateOf({ url: 'https://id.test/' })).to.equal(undefined)
    for (const answer of ['https://a.test/back?code=1&state=s1#end', 'state=s1&code=1', '?state=s1#x?state=s2'])
      expect(problemOf(SIGN_IN, { answers: [answer] }), answer).to.equal(undefined)
    for (const answer of ['https://a.test/back?code=1&state=s2', 'code=1', 's1', 'https://a.test/?x=1#state=s1', null])
      expect(problemOf(SIGN_IN, { answers: [answer] }), String(answer)).to.equal(
        'it belongs to another question, by its state.',
      )
  })

  it('is JSON: all of it is stored, and told', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    for (const odd of [1n, circle]) {
      expect(problemOf(PAY, { decision: 'edit', arguments: { amount: 2, odd } })).to.equal('it must be JSON.')
      expect(problemOf(PAY, { decision: 'approve', odd })).to.equal('it must be JSON.')
      expect(problemOf(ASK, { answers: [odd] })).to.equal('it must be JSON.')
      expect(problemOf(WEATHER, { result: { text: 'sunny', data: odd } })).to.equal('it must be JSON.')
    }
    const attachments = [{ mediaType: 'text/plain', data: new Uint8Array(1) }]
    expect(problemOf(WEATHER, { result: { text: 'sunny', attachments } })).to.equal(undefined)
  })

  it('fits no schema that cannot be used', () => {
    const pending = { ...PAY, schema: { type: 'object', properties: { amount: { pattern: '(' } } } }
    expect(problemOf(pending, { decision: 'edit', arguments: { amount: '2' } })).to.match(
      /^its schema cannot be used: /,
    )
    expect(problemOf(pending, { decision: 'approve' })).to.equal(undefined)
  })

  it('of a tool of the client is a result', () => {
    expect(problemOf(WEATHER, { result: { text: 'sunny' } })).to.equal(undefined)
    expect(problemOf(WEATHER, { result: 'sunny' })).to.match(/^result/)
    expect(problemOf(WEATHER, {})).to.match(/^result/)
  })

  it('is bound to its call: by the digest, and with the answers to earlier questions', () => {
    const approve: PendingAnswer = { callId: 'c1', kind: 'approval', decision: 'approve' }
    expect(bindAnswer(approve, { ...PAY, digest: 'd' })).to.deep.equal({ ...approve, digest: 'd' })
    expect(bindAnswer(approve, PAY)).to.equal(approve)
    const three: PendingAnswer = { callId: 'c2', kind: 'question', answers: [3] }
    expect(bindAnswer(three, { ...ASK, earlierAnswers: [1, 2], digest: 'd' })).to.deep.equal({
      ...three,
      answers: [1, 2, 3],
    })
    expect(bindAnswer(three, ASK)).to.deep.equal(three)
    const sunny: PendingAnswer = { callId: 'c3', kind: 'client_tool', result: { text: 'sunny' } }
    expect(bindAnswer(sunny, { ...WEATHER, digest: 'd' })).to.equal(sunny)
  })
})

describe('answers that were kept', () => {
  const three: PendingAnswer = { callId: 'c2', kind: 'question', answers: [3] }
  const approve: PendingAnswer = { callId: 'c1', kind: 'approval', decision: 'approve' }

  it('join those that came, with their calls', () => {
    const pending = [{ ...ASK, beside: [{ call: PAY, answer: approve as never }] }]
    expect(withKeptAnswers({ pending, answers: [three] })).to.deep.equal({
      pending: [ASK, PAY],
      answers: [three, approve],
    })
  })

  it('stay where none came, or none were kept', () => {
    for (const turn of [{ pending: [ASK], answers: [three] }, { pending: [ASK] }, { answers: [three] }, {}])
      expect(withKeptAnswers(turn)).to.equal(turn)
    const kept = { pending: [{ ...ASK, beside: [{ call: PAY, answer: approve as never }] }] }
    expect(withKeptAnswers(kept)).to.equal(kept)
  })
})
