import {
  type ConversationHistory,
  type LLM,
  type LLMRequest,
  type Message,
  memoryStorage,
  type Storage,
} from 'agent-host'
import { expect } from 'chai'
import summarizing from '../../../modules/conversation/summarizing.ts'
import { describeConversationHistory, makeConversation } from '../../suites/conversation-history-suite.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

function makeModel(fail = false) {
  const asked: LLMRequest[] = []
  const llm: LLM = {
    async *generate(request) {
      asked.push(request)
      if (fail) throw new Error('no such model')
      yield { type: 'text', text: `summary ${asked.length}` }
      yield { type: 'usage', usage: { inputTokens: 9 } }
      yield { type: 'finish', reason: 'stop' }
    },
  }
  return { llm, asked }
}

async function makeFilter(
  history: ConversationHistory,
  llm: LLM,
  storage: Storage = makeStorage(),
  context = makeContext(),
) {
  const config = { max_tokens: 50, keep_messages: 2, prompt: 'Sum up.', heading: 'So far:' }
  return summarizing.create({ history, llm, storage }, config, context)
}

function makeStorage(): Storage {
  return memoryStorage().storageOf({ agentId: 'test', moduleId: 'module' })
}

const rules: Message = { role: 'system', content: 'rules' }
const turn = (n: number): Message[] => [
  says(`q${n}`.padEnd(60, '.')),
  { role: 'assistant', content: `a${n}`.padEnd(60, '.') },
]
const brief = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => `${role} ${content.replace(/\.+$/, '')}`)

describe('conversation/summarizing', () => {
  describeConversationHistory(async (history) => makeFilter(history, makeModel().llm))

  it('leaves a short conversation as it is, without calling the model', async () => {
    const { llm, asked } = makeModel()
    const filter = await makeFilter(makeConversation([rules, says('hi')]), llm)
    expect(await filter.getHistory()).to.deep.equal([rules, says('hi')])
    expect(asked).to.deep.equal([])
  })

  it('replaces older messages with a summary, except system messages', async () => {
    const { llm, asked } = makeModel()
    const run = makeRun()
    const messages = [rules, ...turn(1), ...turn(2), says('q3')]
    const filter = await makeFilter(makeConversation(messages), llm)
    expect(brief(await filter.getHistory(run))).to.deep.equal([
      'system rules',
      'system So far:\nsummary 1',
      'assistant a2',
      'user q3',
    ])
    expect(asked.map(({ messages }) => brief(messages).map((line) => line.replace(/\.+/g, '')))).to.deep.equal([
      ['system Sum up', 'user user: q1\n\nassistant: a1\n\nuser: q2'],
    ])
    expect(run.usage).to.deep.equal([{ inputTokens: 9 }])
  })

  it('reuses the summary in later runs, and extends it', async () => {
    const storage = makeStorage()
    const { llm, asked } = makeModel()
    const see = async (...messages: Message[]) =>
      brief(await (await makeFilter(makeConversation([rules, ...messages]), llm, storage)).getHistory(makeRun()))
    const begun = [...turn(1), ...turn(2), says('q3')]
    await see(...begun)
    expect(await see(...begun)).to.deep.equal(['system rules', 'system So far:\nsummary 1', 'assistant a2', 'user q3'])
    expect(asked).to.have.length(1)
    const later = [...begun, { role: 'assistant', content: 'a3' } as Message, ...turn(4), says('q5')]
    expect(await see(...later)).to.deep.equal(['system rules', 'system So far:\nsummary 2', 'assistant a4', 'user q5'])
    expect(asked[1]?.messages[1]?.content).to.match(/^Summary of what came before:\nsummary 1\n\nassistant: a2/)
    expect(await storage.list({ prefix: '', limit: 9 })).to.have.length(1)
  })

  it('keeps the result of a tool with its call', async () => {
    const { llm, asked } = makeModel()
    const [question, call] = turn(1) as [Message, Extract<Message, { role: 'assistant' }>]
    const calling: Message = { ...call, toolCalls: [{ id: 'c1', name: 'look', arguments: {} }] }
    const result: Message = { role: 'tool', toolCallId: 'c1', content: 'r1'.padEnd(60, '.') }
    const filter = await makeFilter(makeConversation([question, calling, result, says('q2')]), llm)
    const shown = ['system So far:\nsummary 1', 'assistant a1', 'tool r1', 'user q2']
    expect(brief(await filter.getHistory(makeRun()))).to.deep.equal(shown)
    expect(asked[0]?.messages[1]?.content).to.match(/^user: q1\.+$/)
  })

  it('tells the model which tools were called', async () => {
    const { llm, asked } = makeModel()
    const call = { id: 'c1', name: 'refund', arguments: { order: 7 } }
    const messages: Message[] = [
      says('q1'),
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: 'c1', content: 'ok' },
      ...turn(2),
      ...turn(3),
      says('q4'),
    ]
    await (await makeFilter(makeConversation(messages), llm)).getHistory(makeRun())
    const lines = asked[0]?.messages[1]?.content.split('\n\n').slice(0, 3)
    expect(lines).to.deep.equal(['user: q1', 'assistant: [calls refund {"order":7}]', 'tool: ok'])
  })

  it('asks the model above its limit alone, counting a summary that there is', async () => {
    const storage = makeStorage()
    const { llm, asked } = makeModel()
    const see = async (...messages: Message[]) =>
      brief(await (await makeFilter(makeConversation(messages), llm, storage)).getHistory(makeRun()))
    const [question, reply] = turn(1) as [Message, Message]
    expect(await see(question, reply, says('q2'.padEnd(80, '.')))).to.deep.equal(['user q1', 'assistant a1', 'user q2'])
    expect(asked).to.have.length(0)
    const begun = [question, reply, says('q2'.padEnd(81, '.'))]
    expect(await see(...begun)).to.deep.equal(['system So far:\nsummary 1', 'assistant a1', 'user q2'])
    const later = [...begun, { role: 'assistant', content: 'a2' } as Message, says('q3')]
    const shown = ['system So far:\nsummary 1', 'assistant a1', 'user q2', 'assistant a2', 'user q3']
    expect(await see(...later)).to.deep.equal(shown)
    expect(asked).to.have.length(1)
  })

  it('does not use the summary of another conversation', async () => {
    const storage = makeStorage()
    const { llm, asked } = makeModel()
    for (const first of [turn(1), turn(9)]) {
      const filter = await makeFilter(makeConversation([...first, ...turn(2), says('q3')]), llm, storage)
      await filter.getHistory(makeRun())
    }
    expect(asked).to.have.length(2)
  })

  it('shows the whole conversation if the model fails, and logs it', async () => {
    const context = makeContext()
    const messages = [...turn(1), ...turn(2), says('q3')]
    const filter = await makeFilter(makeConversation(messages), makeModel(true).llm, makeStorage(), context)
    expect(await filter.getHistory(makeRun())).to.deep.equal(messages)
    expect(context.lines).to.deep.equal([
      'warn the conversation is shown whole, because it could not be summarized: no such model',
    ])
  })

  it('ends with the run, and requires one', async () => {
    const filter = await makeFilter(makeConversation([...turn(1), ...turn(2)]), makeModel(true).llm)
    const run = makeRun()
    run.abort(new Error('enough'))
    const failure = async (promise: unknown) => Promise.resolve(promise).then(String, (error: Error) => error.message)
    expect(await failure(filter.getHistory(run))).to.equal('enough')
    expect(await failure(filter.getHistory())).to.match(/needs the run: call getHistory\(run\)/)
  })
})
