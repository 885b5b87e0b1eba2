import type { Message, Static } from 'agent-host'
import { expect } from 'chai'
import history from '../../../modules/conversation/history.ts'
import { describeConversationHistory } from '../../suites/conversation-history-suite.ts'
import { makeContext, says } from '../../support/fake-run.ts'

async function shown(messages: Message[], config: Partial<Static<typeof history.config>> = {}) {
  const run = { getHistory: () => [...messages], addMessage() {}, clearHistory() {} }
  const filter = await history.create({ history: run }, { messages: [], ...config }, makeContext())
  return (await filter.getHistory()).map(({ role, content }) => `${role} ${content}`)
}

const call: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 't', arguments: {} }] }
const result: Message = { role: 'tool', content: 'r', toolCallId: 'c' }

describe('conversation/history', () => {
  describeConversationHistory(async (over) =>
    history.create({ history: over }, { messages: [], max_messages: 4 }, makeContext()),
  )

  it('shows the conversation unchanged, after the examples', async () => {
    expect(await shown([says('a')], { messages: [{ role: 'user', content: 'x' }] })).to.deep.equal(['user x', 'user a'])
  })

  it('keeps the latest messages and every system message, and no result without its call', async () => {
    const messages: Message[] = [{ role: 'system', content: 's' }, says('a'), call, result, says('b')]
    expect(await shown(messages, { max_messages: 3 })).to.deep.equal(['system s', 'assistant ', 'tool r', 'user b'])
    expect(await shown(messages, { max_messages: 2 })).to.deep.equal(['system s', 'user b'])
  })

  it('passes added messages and clearing on', async () => {
    const done: unknown[] = []
    const run = {
      getHistory: () => [],
      addMessage: (message: Message) => void done.push(message),
      clearHistory: () => void done.push('cleared'),
    }
    const filter = await history.create({ history: run }, { messages: [] }, makeContext())
    await filter.addMessage(says('a'))
    await filter.clearHistory()
    expect(done).to.deep.equal([says('a'), 'cleared'])
  })
})
