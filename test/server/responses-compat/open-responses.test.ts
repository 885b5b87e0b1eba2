import { expect } from 'chai'
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

// What the schema of Open Responses (https://www.openresponses.org, version 2026-04-24) requires of what is sent here.

const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const oneOf = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)))
const Status = oneOf('in_progress', 'completed', 'incomplete')

const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
})
const Message = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: Status,
  role: oneOf('user', 'assistant', 'system', 'developer'),
  content: Type.Array(OutputText),
})
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String(),
  call_id: Type.String({ minLength: 1, maxLength: 64 }),
  name: Type.String(),
  arguments: Type.String(),
  status: Status,
})
const McpCall = Type.Object({
  type: Type.Literal('mcp_call'),
  id: Type.String(),
  server_label: Type.String(),
  name: Type.String(),
  arguments: Type.String(),
  output: orNull(Type.String()),
  error: orNull(Type.String()),
  status: Status,
})
const Item = Type.Union([Message, FunctionCall, McpCall])

const Tool = Type.Object({
  type: Type.Literal('function'),
  name: Type.String(),
  description: orNull(Type.String()),
  parameters: orNull(Type.Object({})),
  strict: orNull(Type.Boolean()),
})

const Reasoning = Type.Object({
  effort: orNull(oneOf('none', 'low', 'medium', 'high', 'xhigh')),
  summary: orNull(oneOf('concise', 'detailed', 'auto')),
})

const ResponseResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: orNull(Type.Integer()),
  status: Type.String(),
  incomplete_details: orNull(Type.Object({ reason: Type.String() })),
  model: Type.String(),
  previous_response_id: orNull(Type.String()),
  instructions: orNull(Type.String()),
  output: Type.Array(Item),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  tools: Type.Array(Tool),
  tool_choice: oneOf('none', 'auto', 'required'),
  truncation: oneOf('auto', 'disabled'),
  parallel_tool_calls: Type.Boolean(),
  text: Type.Object({ format: Type.Object({ type: oneOf('text', 'json_object') }) }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  temperature: Type.Number(),
  reasoning: orNull(Reasoning),
  usage: orNull(
    Type.Object({
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
      output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    }),
  ),
  max_output_tokens: orNull(Type.Integer()),
  max_tool_calls: orNull(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  metadata: Type.Unknown(),
  safety_identifier: orNull(Type.String()),
  prompt_cache_key: orNull(Type.String()),
})

const event = (type: string, fields: Record<string, TSchema>) =>
  Type.Object({ type: Type.Literal(type), sequence_number: Type.Integer(), ...fields })
const ofRecord = (type: string) => event(type, { response: ResponseResource })
const ofOutput = (type: string, fields: Record<string, TSchema>) =>
  event(type, { output_index: Type.Integer(), ...fields })
const ofItem = (type: string, fields: Record<string, TSchema>) => ofOutput(type, { item_id: Type.String(), ...fields })
const ofPart = (type: string, fields: Record<string, TSchema>) =>
  ofItem(type, { content_index: Type.Integer(), ...fields })

const EVENTS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  [
    ofRecord('response.created'),
    ofRecord('response.in_progress'),
    ofRecord('response.completed'),
    ofRecord('response.failed'),
    ofOutput('response.output_item.added', { item: Item }),
    ofOutput('response.output_item.done', { item: Item }),
    ofPart('response.content_part.added', { part: OutputText }),
    ofPart('response.content_part.done', { part: OutputText }),
    ofPart('response.output_text.delta', { delta: Type.String() }),
    ofPart('response.output_text.done', { text: Type.String() }),
    ofItem('response.function_call_arguments.delta', { delta: Type.String() }),
    ofItem('response.function_call_arguments.done', { arguments: Type.String() }),
    ofItem('response.mcp_call.in_progress', {}),
    ofItem('response.mcp_call.completed', {}),
    ofItem('response.mcp_call_arguments.delta', { delta: Type.String() }),
    ofItem('response.mcp_call_arguments.done', { arguments: Type.String() }),
  ].map((schema) => [schema.properties.type.const, schema]),
)

function problems(schema: TSchema | undefined, value: unknown): string[] {
  if (!schema) return ['There is no schema of it.']
  return [...Value.Errors(schema, value)].map(({ instancePath, message }) => `${instancePath} ${message}`)
}

describe('Open Responses', () => {
  afterEach(closeServers)
  const message = (role: string, content: string) => ({ type: 'message', role, content })

  async function expectAnswer(input: Json[], more: object = {}): Promise<Json> {
    const { create, get } = await makeResponses()
    const record = await create(input, more)
    expect(problems(ResponseResource, record)).to.deep.equal([])
    expect(record.status).to.equal('completed')
    expect(record.output).to.not.deep.equal([])
    expect(problems(ResponseResource, await get(record.id))).to.deep.equal([])
    return record
  }

  it('accepts a message, and a system prompt', async () => {
    await expectAnswer([message('user', 'say hello')])
    const record = await expectAnswer([message('system', 'Talk like a pirate.'), message('user', 'history')])
    expect(textOf(record)).to.equal('["system: Talk like a pirate.","user: history"]')
  })

  it('accepts several turns', async () => {
    const turns = [message('user', 'I am Alice.'), message('assistant', 'Hello Alice!'), message('user', 'history')]
    expect(textOf(await expectAnswer(turns))).to.include('assistant: Hello Alice!')
  })

  it('accepts every option', async () => {
    await expectAnswer([message('user', 'say {}')], {
      tools: [{ type: 'function', name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }],
      tool_choice: 'none',
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_object' } },
      metadata: { a: 'b' },
      truncation: 'auto',
      max_output_tokens: 16,
      max_tool_calls: 1,
      top_logprobs: 0,
      service_tier: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'p',
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
    })
  })

  for (const [title, input, more] of [
    ['a text', 'say one two', {}],
    ['a failure', 'fail-after', {}],
    ['an answer without text', 'nothing', {}],
    ['the use of tools', 'add', { model: 'tools', include: ['agent.tool_calls'] }],
  ] as const) {
    it(`streams ${title} in events of its schema`, async () => {
      const { stream } = await makeResponses()
      const events = (await stream([message('user', input)], more)).slice(0, -1)
      expect(events.length).to.be.greaterThan(2)
      for (const event of events) expect(problems(EVENTS[event.type], event), event.type).to.deep.equal([])
    })
  }

  it('would find a field that is missing', async () => {
    const { create, stream } = await makeResponses()
    const { completed_at: _, ...record } = await create('say a')
    expect(problems(ResponseResource, record)).to.not.deep.equal([])
    const { item_id: __, ...delta } = (await stream('say a'))[4]
    expect(problems(EVENTS[delta.type], delta)).to.not.deep.equal([])
  })
})
