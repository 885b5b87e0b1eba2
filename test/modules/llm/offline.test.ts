import type { LLMPart, Message, ToolDefinition } from 'agent-host'
import { expect } from 'chai'
import offline from '../../../modules/llm/offline.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { makeContext, says } from '../../support/fake-run.ts'

const make = (introduce = false) => offline.create({}, { introduce }, makeContext())
const tool = (name: string, description: string, properties: object, required: string[] = []): ToolDefinition => ({
  name,
  description,
  parameters: { type: 'object', properties, required },
})

const TOOLS = [
  tool('currentTime', 'Tells the current date and time, anywhere in the world.', {
    timezone: { type: 'string', description: 'IANA name of the time zone, such as Asia/Tokyo.' },
  }),
  tool('weather', 'Tells the weather of a city.', { city: { type: 'string' } }, ['city']),
  tool('add', 'Adds two numbers.', { a: { type: 'number' }, b: { type: 'number' } }, ['a', 'b']),
  tool(
    'convert_temperature',
    'Converts a temperature.',
    { degrees: { type: 'number' }, to: { enum: ['celsius', 'fahrenheit'] } },
    ['degrees', 'to'],
  ),
  tool('remember', 'Stores a note.', { note: { type: 'string' }, urgent: { type: 'boolean' } }, ['note']),
]

async function callFor(question: string, tools = TOOLS) {
  const parts = await collect(await make(), { messages: [says(question)], tools })
  const calls = parts.filter((part): part is LLMPart & { type: 'tool_call' } => part.type === 'tool_call')
  return calls.map(({ call }) => [call.name, call.arguments])
}

describe('llm/offline', () => {
  describeLLM(() => make())

  const cases: [question: string, name: string, args: object][] = [
    ['What time is it in Tokyo?', 'currentTime', { timezone: 'Asia/Tokyo' }],
    ['time in Europe/Berlin please', 'currentTime', { timezone: 'Europe/Berlin' }],
    ['What time is it?', 'currentTime', {}],
    ['How is the weather in New York today?', 'weather', { city: 'New York' }],
    ['Please add 2.5 and -3', 'add', { a: 2.5, b: -3 }],
    ['Convert a temperature of 20 degrees to fahrenheit', 'convert_temperature', { degrees: 20, to: 'fahrenheit' }],
    ['Remember the note "buy milk", it is urgent', 'remember', { note: 'buy milk', urgent: true }],
  ]
  for (const [question, name, args] of cases) {
    it(`understands: ${question}`, async () => {
      expect(await callFor(question)).to.deep.equal([[name, args]])
    })
  }

  it('says what it can do when no tool fits, and when there is none', async () => {
    const none = await collect(await make(), { messages: [says('Sing!')], tools: TOOLS.slice(0, 2) })
    expect(textOf(none)).to.equal(
      'None of my tools fits that. I can use:\n- currentTime: Tells the current date and time, anywhere in the world.\n- weather: Tells the weather of a city.',
    )
    expect(textOf(await collect(await make(), { messages: [says('Hi')] }))).to.match(/^I have no tools/)
  })

  it('tells the results of the turn, and calls nothing twice', async () => {
    const messages: Message[] = [
      says('What time is it?'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'currentTime', arguments: {} }] },
      { role: 'tool', content: 'noon', toolCallId: 'c' },
    ]
    const parts = await collect(await make(), { messages, tools: TOOLS })
    expect(textOf(parts)).to.equal('currentTime says: noon')
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('says in the first reply of a conversation what it is and how to switch, and not again', async () => {
    const llm = await make(true)
    expect(textOf(await collect(llm, { messages: [says('Hi')] }))).to.match(/I am the offline model.*OPENAI_API_KEY/)
    const later = [says('Hi'), { role: 'assistant' as const, content: 'Hello' }, says('Hi')]
    expect(textOf(await collect(llm, { messages: later }))).not.to.match(/offline/)
  })

  it('is the same each time', async () => {
    expect(await callFor('What time is it in Tokyo?')).to.deep.equal(await callFor('What time is it in Tokyo?'))
  })
})
