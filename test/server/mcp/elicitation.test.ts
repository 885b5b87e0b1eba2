import { expect } from 'chai'
import type { PendingCall } from '../../../src/run/waiting/pending-call.ts'
import { describeOpen } from '../../../src/server/adapters/mcp/elicitation/describe-open.ts'
import { toElicitation } from '../../../src/server/adapters/mcp/elicitation/elicitation.ts'
import { describeOpen as describeInChat } from '../../../src/server/inbox/describe-open.ts'

describe('the words of a question to a person', () => {
  const call: PendingCall = {
    callId: 'c',
    kind: 'approval',
    name: 'pay',
    arguments: { to: 'ac\u200bme', note: '\u202e001' },
  }
  const shown = '{"to":"ac\\u200bme","note":"\\u202e001"}'

  it('disguise no argument', () => {
    expect(toElicitation(call).message).to.equal(`May I call pay(${shown})?`)
    const open = [{ id: 'mcpr_1', call }]
    expect(describeOpen(open, { baseUrl: undefined }, { servesInbox: false })).to.contain(`about pay(${shown}), and`)
    expect(describeInChat(open, undefined)).to.contain(`Waiting for approval of pay ${shown}. Decide`)
  })

  it('stand in the order in which they are written', () => {
    const question = { ...call, kind: 'question', message: 'Size \u202eM?' } as const
    expect(toElicitation(question).message).to.equal('Size \\u202eM?')
    expect(describeInChat([{ id: 'mcpr_1', call: question }], undefined)).to.contain('an answer: Size \\u202eM? Decide')
  })
})
