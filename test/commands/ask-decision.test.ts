import { expect } from 'chai'
import { askDecisions } from '../../src/commands/chat/ask-decision.ts'
import type { WaitingCall } from '../../src/commands/chat/backend.ts'

const CALL = { kind: 'approval', name: 'refund', arguments: { amount: 900 } } as const

describe('askDecisions', () => {
  /** Types these lines, one for each question, and leaves after the last. */
  const read = async (call: WaitingCall, ...lines: string[]) => {
    const asked: string[] = []
    const decisions = await askDecisions([call], async (prompt) => {
      asked.push(prompt)
      return lines.shift()
    })
    return { decisions, asked }
  }
  const decide = async (...lines: string[]) => {
    const { decisions, asked } = await read(CALL, ...lines)
    return { decisions, asked: asked.length }
  }

  it('takes no word that only begins as a decision does', async () => {
    for (const line of ['abort', 'ask Bob first', 'are you sure?', 'a b', 'approved', 'no', '', 'really?', 'exit']) {
      expect([line, await decide(line)]).to.deep.equal([line, { decisions: undefined, asked: 2 }])
    }
  })

  it('takes a word or its letter', async () => {
    for (const line of ['a', ' A ', 'approve', 'Approve'])
      expect((await decide(line)).decisions).to.deep.equal([{ decision: 'approve' }])
    for (const line of ['r', 'reject'])
      expect((await decide(line, 'too much')).decisions).to.deep.equal([{ decision: 'reject', reason: 'too much' }])
    for (const line of ['e', 'edit'])
      expect((await decide(line, '{"amount":9}')).decisions).to.deep.equal([
        { decision: 'edit', arguments: { amount: 9 } },
      ])
  })

  it('shows characters that nobody sees as escapes, which an edit reads back', async () => {
    const shown = String.raw`{"to":"Ann\u200b"}`
    const { decisions, asked } = await read({ ...CALL, arguments: { to: 'Ann\u200b' } }, 'e', shown)
    expect(asked.map((prompt) => prompt.includes(shown))).to.deep.equal([true, true])
    expect(decisions).to.deep.equal([{ decision: 'edit', arguments: { to: 'Ann\u200b' } }])
  })
})
