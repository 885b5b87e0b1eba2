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
  text,
  image_url: anything,
  file: anything,
})
const message = fields({
  role: mostly('user', 'system', 'tool', 'assistant', 'developer'),
  content: fc.oneof(text, fc.array(part, { maxLength: 2 }), anything),
  tool_calls: anything,
  tool_call_id: anything,
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
  ),
  role: mostly('user', 'assistant'),
  content: fc.oneof(text, fc.array(part, { maxLength: 2 }), anything),
  id: text,
  call_id: text,
  approval_request_id: text,
  approve: anything,
  output: anything,
  arguments: anything,
  name: text,
})
const response = fields({
  model,
  input: fc.oneof(text, fc.array(item, { maxLength: 3 }), anything),
  stream: mostly(true, false),
  store: mostly(true, false),
  background: mostly(true, false),
  previous_response_id: fc.oneof(text, anything),
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
  ),
  params: fc.oneof(
    fields({
      name: mostly('echo', 'desk', 'hostile'),
      arguments: fc.oneof(fields({ message: text, conversation_id: text }), anything),
      protocolVersion: mostly('2025-06-18', '2026-07-28', '2024-11-05'),
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
  ),
  variables: fc.oneof(fields({ id: text }), anything),
  operationName: anything,
})
const decision = fields({
  decision: mostly('approve', 'reject'),
  reason: anything,
  arguments: anything,
  answer: anything,
})

const id = fc.oneof(fc.constant('resp_00000000000000000000000000000000'), fc.webSegment())
const target = fc.oneof(
  ...(
    [
      [['/compat/chat/completions', '/v1/chat/completions'], chat],
      [['/compat/responses', '/v1/responses'], response],
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
          fc.constantFrom('responses', 'approvals', 'models', 'chat/completions'),
          id,
          fc.constantFrom('', '/cancel', '/input_items', '/input_items?limit=-1', '?stream=true&starting_after=x'),
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

/** Sends requests of any shape, the same ones for the same seed, and returns those whose answers are a fault of the server. */
export async function fuzzRequests({ app }: FuzzedServer, seed: number, count: number): Promise<unknown[]> {
  const faults: unknown[] = []
  const requests = fc.sample(request, { numRuns: count, seed })
  for (let first = 0; first < count; first += 50) {
    await Promise.all(
      requests.slice(first, first + 50).map(async ({ method, target: { url, body }, type, accept, broken, cut }) => {
        const whole = JSON.stringify(body) ?? ''
        const payload = broken ? whole.slice(0, cut) : whole
        const reply = await app.inject({
          method: method as 'POST',
          url,
          headers: { accept, ...(type === '' ? {} : { 'content-type': type }) },
          ...(method === 'GET' || method === 'HEAD' ? {} : { payload }),
        })
        const answer = {
          method,
          url,
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
