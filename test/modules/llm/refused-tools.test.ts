import type { ServerResponse } from 'node:http'
import type { ToolDefinition } from 'agent-host'
import { expect } from 'chai'
import { type FittedTools, fitRefusedTools, fitTools, keepFitted } from '../../../modules/llm/lib/refused-tools.ts'
import { simpleSchema } from '../../../modules/llm/lib/simple-schema.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { connectsModels, failure, words } from '../../support/connect-model.ts'
import { type Answer, type ModelRequest, streams } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'

const PLAIN = { type: 'object', properties: { x: { type: 'string' } } }
const tool = (name: string, parameters: object = PLAIN): ToolDefinition => ({
  name,
  description: name,
  parameters: { ...parameters },
})
const refuses =
  (body: object): Answer =>
  (response: ServerResponse) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

/** Answers as the vendor of chat completions does where schemas have alternatives at the top, or an unknown type. */
const isStrict: Answer = (response, request) => {
  const bad = toolsOf(request).findIndex(
    ({ parameters }) => 'anyOf' in parameters || 'if' in parameters || 'broken' in parameters,
  )
  if (bad === -1) return streams(words)(response, request)
  const { name } = toolsOf(request)[bad] as { name: string }
  const message = `Invalid schema for function '${name}': schema must have type 'object' and not have 'anyOf' at the top level.`
  return refuses({ error: { message, type: 'invalid_request_error', param: `tools[${bad}].function.parameters` } })(
    response,
    request,
  )
}

function toolsOf({ body: { tools = [] } }: ModelRequest) {
  return (tools as { function: { name: string; parameters: object } }[]).map((each) => each.function)
}

describe('tools that a vendor refuses', () => {
  const connect = connectsModels()
  const anyOf = { ...PLAIN, anyOf: [{ required: ['x'] }, { properties: { y: { type: 'number' } }, required: ['y'] }] }

  it('are sent with a simpler schema or left out, told once, and not sent again', async () => {
    const { server, llm, log } = await connect([isStrict])
    const tools = [tool('good'), tool('choice', anyOf), tool('broken', { ...PLAIN, broken: true })]
    for (const _ of [1, 2]) expect(textOf(await collect(llm, { messages: [says('hi')], tools }))).to.equal('one two')
    const sent = server.requests.map((request) => toolsOf(request).map(({ name, parameters }) => [name, parameters]))
    expect(sent.map((each) => each.length)).to.deep.equal([3, 3, 2, 2])
    expect(sent.at(-1)).to.deep.equal([
      ['good', PLAIN],
      ['choice', { ...PLAIN, properties: { ...PLAIN.properties, y: { type: 'number' } } }],
    ])
    const warnings = (log as string[]).filter((line) => line.includes('refuses'))
    expect(warnings).to.have.lengthOf(2)
    expect(warnings[0]).to.match(
      /it refuses the tool 'choice', which is sent with a simpler schema: Invalid schema for function 'choice'/,
    )
    expect(warnings[1]).to.match(/it refuses the tool 'broken', which is left out: /)
  })

  it('are not given up where the choice forces them', async () => {
    const { server, llm } = await connect([isStrict])
    const tools = [tool('good'), tool('broken', { ...PLAIN, broken: true })]
    const asked = collect(llm, { messages: [says('hi')], tools, toolChoice: { tool: 'broken' } })
    expect(await failure(asked)).to.include("Invalid schema for function 'broken'")
    expect(server.requests).to.have.lengthOf(1)
  })

  it('are sent again where leaving them out did not help', async () => {
    const { server, llm } = await connect([
      refuses({ error: { message: "The tool 'good' is not the matter." } }),
      refuses({ error: { message: 'Something else.' } }),
      streams(words),
    ])
    const tools = [tool('good')]
    expect(await failure(collect(llm, { messages: [says('hi')], tools }))).to.include('Something else')
    await collect(llm, { messages: [says('hi')], tools })
    expect(server.requests.map((request) => toolsOf(request).length)).to.deep.equal([1, 0, 1])
  })

  it('are forgotten at the limit, all but the new ones', () => {
    let known: FittedTools = new Map()
    let most = 0
    for (let count = 0; count < 2500; count++) {
      known = keepFitted(known, new Map([...known, [`tool ${count}`, undefined]]))
      most = Math.max(most, known.size)
      expect(known.has(`tool ${count}`)).to.equal(true)
    }
    expect(most).to.equal(1000)
  })

  const refusals: Record<string, [error: object, names: string[]]> = {
    'the place, of the messages API': [
      { message: 'tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level' },
      ['b'],
    ],
    'the place, of Gemini': [
      {
        message:
          '* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[x].items: missing field.',
      },
      ['c'],
    ],
    'the place, of Converse': [
      {
        message: 'The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.',
      },
      ['a'],
    ],
    'the place, as a validator writes it': [
      {
        statusCode: 422,
        message: 'Unprocessable Entity',
        responseBody: '{"detail":[{"loc":["body","tools",1,"function"],"msg":"x"}]}',
      },
      ['b'],
    ],
    'several places': [{ message: 'tools[0].function: x; tools[2].function: y' }, ['a', 'c']],
    'the name after a word': [{ message: 'invalid JSON schema for tool b, which has no type' }, ['b']],
    'a name in the body alone': [
      {
        message: 'Provider returned error',
        responseBody: '{"error":{"metadata":{"raw":"Invalid schema for function `c`"}}}',
      },
      ['c'],
    ],
    'a tool that is not there': [{ message: 'tools.7.custom.input_schema: x' }, []],
    'the schema of an answer': [{ message: "Invalid schema for response_format 'b': x" }, []],
    nothing: [{ message: 'a b c: maximum context length is 8192 tokens, 1000 in the functions' }, []],
    'a tool, by another status': [{ statusCode: 500, message: "Invalid schema for function 'b'" }, []],
  }
  for (const [what, [error, names]] of Object.entries(refusals)) {
    it(`are found by a refusal that names ${what}`, () => {
      const tools = ['a', 'b', 'c'].map((name) => tool(name))
      const found = fitRefusedTools({ statusCode: 400, ...error }, { tools }, new Map())
      const left = fitTools({ tools }, found?.fitted ?? new Map()).tools.map(({ name }) => name)
      expect(left).to.deep.equal(['a', 'b', 'c'].filter((name) => !names.includes(name)))
    })
  }

  it('get a schema without alternatives at the top', () => {
    const schema = {
      type: 'object',
      $defs: { way: { properties: { x: { type: 'number' }, z: {} }, required: ['x', 'z'] } },
      properties: { own: { type: 'string' } },
      required: ['own'],
      oneOf: [{ $ref: '#/$defs/way' }, { properties: { x: { type: 'string' } }, required: ['x'] }],
      allOf: [{ properties: { own: {}, w: {} }, required: ['w'] }],
      not: {},
    }
    const simple = simpleSchema(schema)
    expect(simple).to.deep.equal({
      type: 'object',
      $defs: schema.$defs,
      properties: { own: { type: 'string' }, w: {}, x: { anyOf: [{ type: 'number' }, { type: 'string' }] }, z: {} },
      required: ['own', 'w', 'x'],
    })
    expect(simpleSchema(simple)).to.deep.equal(simple)
    expect(simpleSchema({ type: 'object' })).to.deep.equal({ type: 'object', properties: {} })
  })
})
