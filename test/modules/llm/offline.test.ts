import type { LLMPart, LLMRequest, Message, ToolDefinition } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import offline from '../../../modules/llm/offline.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
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
  tool('book_table', 'Books a table.', {
    date: { type: 'string', format: 'date' },
    guests: { type: ['integer', 'null'] },
  }),
  tool('average', 'Tells the average.', { values: { type: 'array', items: { type: 'number' } } }, ['values']),
  tool('find_order', 'Finds an order.', { number: { type: 'string', examples: ['A-1002'] } }, ['number']),
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
    ['Temperature: 100 degrees celsius in fahrenheit', 'convert_temperature', { degrees: 100, to: 'fahrenheit' }],
    ['Convert temperature 100 Fahrenheit to Celsius', 'convert_temperature', { degrees: 100, to: 'celsius' }],
    [
      'Convert temperature: how many Fahrenheit are 100 Celsius?',
      'convert_temperature',
      { degrees: 100, to: 'fahrenheit' },
    ],
    ['Remember the note "buy milk", it is urgent', 'remember', { note: 'buy milk', urgent: true }],
    ['Where is my order a-77, the one "for Ann"?', 'find_order', { number: 'a-77' }],
    ['how is the weather in san francisco today?', 'weather', { city: 'san francisco' }],
    ["What's the weather in 'Rome'?", 'weather', { city: 'Rome' }],
    ['Book a table on 2026-11-21 for 3', 'book_table', { date: '2026-11-21', guests: 3 }],
    ['The average of 1, 2 and 6', 'average', { values: [1, 2, 6] }],
    ['remember to sleep', 'remember', { note: 'remember to sleep' }],
  ]
  for (const [question, name, args] of cases) {
    it(`answers: ${question}`, async () => {
      expect(await callFor(question)).to.deep.equal([[name, args]])
    })
  }

  it('lists its abilities when no tool matches, or there are none', async () => {
    const none = await collect(await make(), { messages: [says('Sing!')], tools: TOOLS.slice(0, 2) })
    expect(textOf(none)).to.equal(
      'None of my tools fits that. I can use:\n- currentTime: Tells the current date and time, anywhere in the world.\n- weather: Tells the weather of a city.',
    )
    expect(textOf(await collect(await make(), { messages: [says('Hi')] }))).to.match(/^I have no tools/)
  })

  it('does not match tools by JSON Schema keywords', async () => {
    expect(await callFor('Is a string a number or an object?', TOOLS.slice(4, 5))).to.deep.equal([])
  })

  it('obeys tool_choice: the named tool, any tool, or none', async () => {
    const chosen = async (toolChoice: LLMRequest['toolChoice'], question = 'Sing!') => {
      const parts = await collect(await make(), { messages: [says(question)], tools: TOOLS.slice(0, 2), toolChoice })
      return parts.flatMap((part) => (part.type === 'tool_call' ? [part.call.name] : []))
    }
    expect(await chosen({ tool: 'weather' })).to.deep.equal(['weather'])
    expect(await chosen('required')).to.deep.equal(['currentTime'])
    expect(await chosen('none', 'What time is it?')).to.deep.equal([])
  })

  it('reads a message of megabytes quickly', async () => {
    const [call] = await callFor(`time in ${' '.repeat(20_000)}1 ${'in a '.repeat(400_000)}`)
    expect(call?.[0]).to.equal('currentTime')
    const content = `noon${' '.repeat(200_000)}`
    const result: Message = { role: 'tool', content, toolCallId: 'c' }
    const parts = await collect(await make(), { messages: [says('time?'), result] })
    expect(textOf(parts)).to.equal(`The tool says: ${content}`)
    const spentMs = measureCpuTime()
    const [blank] = await callFor(`time in${' '.repeat(3900)}1`)
    expect(blank?.[0]).to.equal('currentTime')
    expect(spentMs()).below(1000)
  })

  it('reports the results of the turn, and calls no tool twice', async () => {
    const messages: Message[] = [
      says('What time is it?'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'currentTime', arguments: {} }] },
      { role: 'tool', content: 'noon', toolCallId: 'c' },
    ]
    const parts = await collect(await make(), { messages, tools: TOOLS })
    expect(textOf(parts)).to.equal('currentTime says: noon')
    const failed: Message[] = [
      ...messages.slice(0, 2),
      { role: 'tool', content: 'no clock', toolCallId: 'c', isError: true },
    ]
    expect(textOf(await collect(await make(), { messages: failed, tools: TOOLS }))).to.equal(
      'currentTime failed: no clock',
    )
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('names the tool of each result where ids repeat', async () => {
    const call = (name: string): Message => ({
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name, arguments: {} }],
    })
    const result = (content: string): Message => ({ role: 'tool', content, toolCallId: 'c' })
    const messages = [says('time?'), call('currentTime'), result('noon'), call('weather'), result('snow')]
    expect(textOf(await collect(await make(), { messages }))).to.equal('currentTime says: noon\nweather says: snow')
  })

  it('introduces itself in its first answer only, in whatever conversation the next one is', async () => {
    const llm = await make(true)
    const turn: Message[] = [
      says('time?'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'currentTime', arguments: {} }] },
      { role: 'tool', content: 'noon', toolCallId: 'c' },
    ]
    expect(textOf(await collect(llm, { messages: turn }))).to.match(
      /^currentTime says: noon\n\n\(I am the offline model.*OPENAI_API_KEY/,
    )
    expect(textOf(await collect(llm, { messages: turn }))).to.equal('currentTime says: noon')
    expect(textOf(await collect(llm, { messages: [says('Sing!')] }))).not.to.match(/offline/)
  })

  it('does not introduce itself beside a tool result that does: that of another agent without a model', async () => {
    const sung = textOf(await collect(await make(true), { messages: [says('Sing!')] }))
    const turn: Message[] = [
      says('Sing!'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'singer', arguments: {} }] },
      { role: 'tool', content: sung, toolCallId: 'c' },
    ]
    const text = textOf(await collect(await make(true), { messages: turn }))
    expect(text.match(/I am the offline model/g)).to.have.length(1)
  })

  it('is deterministic', async () => {
    expect(await callFor('What time is it in Tokyo?')).to.deep.equal(await callFor('What time is it in Tokyo?'))
  })

  it('answers with JSON for a schema, filled from the question', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 1 },
        mood: { enum: ['calm', 'wild'] },
        on: { type: 'string', format: 'date' },
        place: { $ref: '#/$defs/place' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      },
      required: ['city', 'days', 'mood', 'on', 'place', 'tags'],
      additionalProperties: false,
      $defs: { place: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] } },
    }
    const parts = await collect(await make(), { messages: [says('3 days in Oslo')], responseSchema: schema })
    const value = JSON.parse(textOf(parts))
    expect(value).to.deep.include({ city: 'Oslo', days: 3, mood: 'calm', place: { lat: 3 } })
    expect(Value.Check(schema, value)).to.equal(true)
    const any = await collect(await make(), { messages: [says('x')], responseSchema: { type: 'object' } })
    expect(textOf(any)).to.equal('{}')
  })

  it('lists the attachments of the question and of tools', async () => {
    const image = { mediaType: 'image/png', data: Uint8Array.of(1, 2, 3), name: 'cat.png' }
    const link = { mediaType: 'application/pdf', data: new URL('https://example.com/a.pdf') }
    const asked: Message[] = [{ role: 'user', content: 'What is this?', attachments: [image, link] }]
    expect(textOf(await collect(await make(), { messages: asked }))).to.match(
      /^I got, and cannot look at: cat\.png, image\/png \(3 bytes\), application\/pdf \(by address\)\./,
    )
    const called: Message[] = [
      says('Paint'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'paint', arguments: {} }] },
      { role: 'tool', content: 'done', toolCallId: 'c', attachments: [image] },
    ]
    expect(textOf(await collect(await make(), { messages: called }))).to.equal(
      'paint says: done\nI got, and cannot look at: cat.png, image/png (3 bytes).',
    )
  })
})
