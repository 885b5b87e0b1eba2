import type { ConversationHistory, Message } from 'agent-host'
import { expect } from 'chai'
import { makeRun, says } from '../support/fake-run.ts'

const run = makeRun()

/** A conversation as the run provides it. */
export function makeConversation(messages: readonly Message[]): ConversationHistory {
  let current = [...messages]
  return {
    getHistory: () => [...current],
    addMessage: (message) => void current.push(message),
    clearHistory: () => {
      current = []
    },
  }
}

/**
 * What every provider of `ConversationHistory` promises. The one that is made stands over this conversation, and has room for
 * four short messages.
 */
export function describeConversationHistory(
  makeHistory: (over: ConversationHistory) => Promise<ConversationHistory>,
): void {
  describe('as a ConversationHistory', () => {
    const call: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 't', arguments: {} }] }
    const messages: Message[] = [
      { role: 'system', content: 'rules' },
      says('a'),
      call,
      { role: 'tool', content: 'r', toolCallId: 'c' },
      says('b'),
    ]

    it('shows the conversation, oldest first, ending with the current message', async () => {
      const history = await makeHistory(makeConversation(messages))
      expect(await history.getHistory(run)).to.deep.equal(messages)
    })

    it('returns a copy', async () => {
      const history = await makeHistory(makeConversation(messages))
      const mine = await history.getHistory(run)
      mine.length = 0
      expect(await history.getHistory(run)).to.deep.equal(messages)
    })

    it('shows added messages', async () => {
      const history = await makeHistory(makeConversation([says('a')]))
      await history.addMessage({ role: 'assistant', content: 'b' }, run)
      expect(await history.getHistory(run)).to.deep.equal([says('a'), { role: 'assistant', content: 'b' }])
    })

    it('shows nothing once cleared', async () => {
      const history = await makeHistory(makeConversation(messages))
      await history.clearHistory(run)
      expect(await history.getHistory(run)).to.deep.equal([])
    })

    it('always keeps system messages and the question, and no tool result without its call', async () => {
      const many = Array.from({ length: 40 }, (_, n) => [
        says(`question ${n} ${'x'.repeat(400)}`),
        call,
        messages[3] as Message,
      ]).flat()
      many.push({ role: 'assistant', content: 'done' }, says('and'))
      const question = says('the question')
      const history = await makeHistory(makeConversation([{ role: 'system', content: 'rules' }, ...many, question]))
      const shown = await history.getHistory(run)
      expect(shown[0]).to.deep.equal({ role: 'system', content: 'rules' })
      expect(shown.at(-1)).to.deep.equal(question)
      for (const [place, message] of shown.entries()) {
        if (message.role === 'tool') expect(shown[place - 1]).to.deep.equal(call)
      }
    })
  })
}
