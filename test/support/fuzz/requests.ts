import fc from 'fast-check'
import { findFault } from './find-fault.ts'
import type { FuzzedServer } from './server.ts'

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('echo', 'user', 'stream', '__proto__', 'constructor', '\u0000', '../..', 'model', 'a'.repeat(10_000)),
)
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
})).value
/** Of a field that no schema closes: often what cannot be made a text, where JavaScript throws. */
const unchecked = fc.oneof(text, fc.constant({ toString: null, valueOf: null }), anything)
/** Mostly what a field takes, now and then anything. */
const mostly = <T>(...values: T[]) => fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, anything)
const fields = (shape: Record<string, fc.Arbitrary<unknown>>) => fc.record(shape, { requiredKeys: [] })

const model = mostly('echo', 'desk/sales', 'model', 'hostile', 'nobody')
const tool = fields({
  type: mostly('function'),
  function: fields({ name: text, parameters: anything }),
  name: text,
  parameters: anything,
})
const part = fields({
  type: mostly('text', 'input_text', 'image_url', 'input_image', 'file'),
  text: unchecked,
  image_url: anything,
  file: anything,
})
const message = fields({
  role: mostly('user', 'system', 'tool', 'assistant', 'developer'),
  content: fc.oneof(text, fc.array(part, { maxLength: 2 }), anything),
  tool_calls: anything,
  tool_call_id: mostly('mcpr_1', 'a'),
})
const chat = fields({
  model,
  messages: fc.oneof(fc.array(message, { maxLength: 3 }), anything),
  stream: mostly(true, false),
  tools: fc.oneof(fc.array(tool, { maxLength: 2 }), anything),
  tool_choice: anything,
  response_format: anything,
  temperature: anything,
  stop: anything,
  user: anything,
  metadata: anything,
  stream_options: anything,
})
const item = fields({
  type: mostly(
    'message',
    'function_call',
    'function_call_output',
    'item_reference',
    'mcp_approval_response',
    'reasoning',
    'mcp_call',
    'compaction',
  ),
  role: mostly('user', 'assistant'),
  content: fc.oneof(text, fc.array(part, { maxLength: 2 }), anything),
  id: mostly('{item}'),
  call_id: mostly('a', 'b'),
  encrypted_content: text,
  approval_request_id: unchecked,
  approve: anything,
  output: fc.oneof(fc.array(fields({ type: unchecked, text: unchecked }), { maxLength: 2 }), anything),
  arguments: unchecked,
  name: text,
})
export const response = fields({
  model,
  input: fc.oneof(text, fc.array(item, { maxLength: 3 }), anything),
  stream: mostly(true, false),
  store: mostly(true, false),
  background: mostly(true, false),
  previous_response_id: mostly('{response}'),
  conversation: mostly('{conversation}'),
  truncation: mostly('auto', 'disabled'),
  instructions: anything,
  tools: fc.oneof(fc.array(tool, { maxLength: 2 }), anything),
  text: anything,
  reasoning: anything,
  metadata: anything,
  include: anything,
})
const rpc = fields({
  jsonrpc: mostly('2.0'),
  id: fc.oneof(fc.integer(), text, anything),
  method: mostly(
    'initialize',
    'ping',
    'tools/list',
    'tools/call',
    'notifications/initialized',
    'notifications/cancelled',
    'server/discover',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'skills/get',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
  ),
  params: fc.oneof(
    fields({
      name: mostly('echo', 'desk', 'hostile', 'notes'),
      uri: mostly(
        'agent-host://notes/memory/memory',
        'agent-host://notes/conversations/x',
        'agent-host://%zz/memory/%',
      ),
      arguments: fc.oneof(fields({ message: text, conversation_id: text }), anything),
      protocolVersion: mostly('2025-06-18', '2026-07-28', '2024-11-05'),
      taskId: unchecked,
      cursor: anything,
      requestId: anything,
      _meta: anything,
    }),
    anything,
  ),
})
const graphql = fields({
  query: mostly(
    '{ list_agents { id } }',
    'query Q($id: String!) { agent_config(agent_id: $id) { id } debug_log(agent_id: $id) { has_more } }',
    '{ runs { total } }',
    'mutation M($id: String!) { clear_log(agent_id: $id) }',
    'mutation M($id: String!) { stop_run(run_id: $id) }',
    'mutation M($id: String!) { read_memory(agent_id: $id, module_id: "memory", limit: 3) }',
    'mutation M($id: String!, $a: JSON!) { call_tool(agent_id: $id, module_id: "tools", name: "add", arguments: $a) { error } }',
  ),
  variables: fc.oneof(fields({ id: fc.oneof(text, fc.constantFrom('notes', 'hostile')), a: anything }), anything),
  operationName: anything,
})
const compaction = fields({
  model,
  input: fc.oneof(text, fc.array(item, { maxLength: 3 }), anything),
  previous_response_id: mostly('{response}'),
  instructions: anything,
})
const conversation = fields({
  items: fc.oneof(fc.array(item, { maxLength: 3 }), anything),
  metadata: fc.oneof(fc.dictionary(text, text, { maxKeys: 3 }), anything),
})
const decision = fields({
  decision: mostly('approve', 'reject'),
  reason: anything,
  arguments: anything,
  answer: anything,
})

/** Stands for what is there; the rest mostly is not. */
const id = fc.oneof(fc.constantFrom('{response}', '{conversation}', '{item}'), fc.webSegment())
const target = fc.oneof(
  ...(
    [
      [['/compat/chat/completions', '/v1/chat/completions'], chat],
      [['/compat/responses', '/v1/responses'], response],
      [['/compat/responses/compact', '/v1/responses/compact'], compaction],
      [
        [
          '/compat/conversations',
          '/v1/conversations/{conversation}',
          '/compat/conversations/{conversation}/items',
          '/v1/conversations/{conversation}/items/{item}',
        ],
        conversation,
      ],
      [['/mcp'], fc.oneof(rpc, fc.array(rpc, { maxLength: 3 }))],
      [['/api/ui/graphql'], graphql],
    ] as const
  ).map(([urls, body]) =>
    fc.record({ url: fc.constantFrom(...urls), body: fc.oneof({ weight: 9, arbitrary: body }, anything) }),
  ),
  fc.record({
    url: fc.oneof(
      fc
        .tuple(
          fc.constantFrom('/compat', '/v1'),
          fc.constantFrom('responses', 'approvals', 'conversations', 'models', 'chat/completions'),
          id,
          fc.constantFrom(
            '',
            '/cancel',
            '/input_items',
            '/input_items?limit=-1',
            '/items?after={item}',
            '/items/{item}',
            '?stream=true&starting_after=x',
          ),
        )
        .map(([base, name, one, rest]) => `${base}/${name}/${one}${rest}`),
      fc.webPath().map((path) => (path.startsWith('/') ? path : `/${path}`)),
    ),
    body: fc.oneof(decision, anything),
  }),
)
const request = fc.record({
  method: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'),
  target,
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/json; charset=utf-16',
    'a/b; c',
    '',
  ),
  accept: fc.constantFrom('application/json', 'application/json, text/event-stream'),
  broken: fc.constantFrom(false, false, false, false, false, false, false, true),
  cut: fc.nat(200),
})

/** Puts the ids of what is there into a text. Made anew now and then, since requests delete it. */
export async function makeFill(app: FuzzedServer['app']): Promise<(text: string) => string> {
  const post = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
  const { id: conversation } = await post('/v1/conversations', { items: [{ role: 'user', content: 'hi' }] })
  const { id: response, output } = await post('/v1/responses', { model: 'echo', input: 'hi', conversation })
  const item = output[0].id
  return (text) => {
    return text.replaceAll('{response}', response).replaceAll('{conversation}', conversation).replaceAll('{item}', item)
  }
}

/** Sends requests of any shape, the same ones for the same seed, and returns those whose answers are a fault of the server. */
export async function fuzzRequests({ app }: FuzzedServer, seed: number, count: number): Promise<unknown[]> {
  const faults: unknown[] = []
  const requests = fc.sample(request, { numRuns: count, seed })
  for (let first = 0; first < count; first += 50) {
    const fill = await makeFill(app)
    await Promise.all(
      requests.slice(first, first + 50).map(async ({ method, target: { url, body }, type, accept, broken, cut }) => {
        const whole = fill(JSON.stringify(body) ?? '')
        const payload = broken ? whole.slice(0, cut) : whole
        const reply = await app.inject({
          method: method as 'POST',
          url: fill(url),
          headers: { accept, ...(type === '' ? {} : { 'content-type': type }) },
          ...(method === 'GET' || method === 'HEAD' ? {} : { payload }),
        })
        const answer = {
          method,
          url: fill(url),
          status: reply.statusCode,
          type: String(reply.headers['content-type'] ?? ''),
          body: reply.body,
        }
        const problem = findFault(answer)
        if (problem !== undefined) faults.push({ seed, problem, sent: { type, payload }, ...answer })
      }),
    )
  }
  return faults
}
