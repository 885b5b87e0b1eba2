import type { Message } from 'agent-host'
import { expect } from 'chai'
import windowed from '../../../modules/conversation/windowed.ts'
import { describeConversationHistory, makeConversation } from '../../suites/conversation-history-suite.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'
import { runAgent } from '../../support/run-agent.ts'

async function shown(messages: Message[], config: object = {}) {
  const settings = { max_tokens: 1000, max_messages: 100, ...config }
  const filter = await windowed.create({ history: makeConversation(messages) }, settings, makeContext())
  return (await filter.getHistory(makeRun())).map(({ role, content }) => `${role} ${content.slice(0, 4)}`)
}
const long = (begin: string, tokens: number) => says(begin.padEnd(tokens * 4, '.'))

describe('conversation/windowed', () => {
  describeConversationHistory(async (history) =>
    windowed.create({ history }, { max_tokens: 50, max_messages: 4 }, makeContext()),
  )

  it('keeps the latest messages that fit its token limit', async () => {
    const messages = [long('1', 10), long('2', 10), long('3', 10)]
    expect(await shown(messages, { max_tokens: 30 })).to.deep.equal(['user 1...', 'user 2...', 'user 3...'])
    expect(await shown(messages, { max_tokens: 29 })).to.deep.equal(['user 2...', 'user 3...'])
  })

  it('counts system messages and calls of tools', async () => {
    const call: Message = {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 't', arguments: { text: 'x'.repeat(80) } }],
    }
    const messages: Message[] = [{ role: 'system', content: 's'.repeat(80) }, long('1', 10), call, long('2', 10)]
    expect(await shown(messages, { max_tokens: 30 })).to.deep.equal(['system ssss', 'user 2...'])
    expect(await shown(messages, { max_tokens: 59 })).to.deep.equal(['system ssss', 'user 2...'])
    expect(await shown(messages, { max_tokens: 90 })).to.have.length(4)
  })

  it('keeps the latest messages up to a maximum', async () => {
    expect(await shown([says('1'), says('2'), says('3')], { max_messages: 2 })).to.deep.equal(['user 2', 'user 3'])
  })

  it('shows the question, however long', async () => {
    expect(await shown([says('1'), long('2', 5000)])).to.deep.equal(['user 2...'])
  })

  it('shows the calls since the question with their results, however small the window', async () => {
    const calls = [{ id: 'c', name: 't', arguments: {} }]
    const messages: Message[] = [
      says('1'),
      { role: 'assistant', content: 'call', toolCalls: calls },
      { role: 'tool', content: 'old', toolCallId: 'c' },
      says('2'),
      { role: 'assistant', content: 'call', toolCalls: calls.map((call) => ({ ...call, id: 'd' })) },
      { role: 'tool', content: 'new', toolCallId: 'd' },
    ]
    const turn = ['user 2', 'assistant call', 'tool new']
    expect(await shown(messages, { max_messages: 1 })).to.deep.equal(turn)
    // A result goes with the call before it: there is room for one of the two.
    expect(await shown(messages, { max_messages: 4 })).to.deep.equal(turn)
    expect(await shown(messages, { max_tokens: 1 })).to.deep.equal(turn)
  })

  it('decides what the orchestrator sees', async () => {
    const agent = {
      id: 'brief',
      modules: [
        { id: 'window', module: 'conversation/windowed', config: { max_messages: 1 } },
        { id: 'llm', module: 'llm/mock', config: { replies: ['ok'] } },
        { id: 'loop', module: 'orchestrator/tool-loop' },
      ],
    }
    const seen: unknown[] = []
    const onCall = ({ event_name, result }: { event_name: string; result: unknown }) => {
      if (event_name === 'conversation/windowed.Windowed.getHistory.result') seen.push(result)
    }
    await runAgent(agent, [says('old'), { role: 'assistant', content: 'yes' }, says('new')], { onCall })
    expect(seen).to.deep.equal([[says('new')]])
  })
})
