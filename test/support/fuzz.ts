import fc from 'fast-check'
import { makeServer } from './server.ts'

const COMPLETIONS = '/compat/chat/completions'

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('echo', 'user', 'stream', '__proto__', 'constructor', '\u0000', '../..', 'model'),
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
const message = fc.record(
  {
    role: fc.oneof(fc.constantFrom('user', 'system', 'tool', 'assistant'), anything),
    content: fc.oneof(text, anything),
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  fc.record(
    {
      model: fc.oneof(fc.constantFrom('echo', 'desk/sales', 'nobody'), anything),
      messages: fc.oneof(fc.array(message, { maxLength: 3 }), anything),
      stream: fc.oneof(fc.boolean(), anything),
      temperature: anything,
      stop: anything,
      user: anything,
      metadata: anything,
      stream_options: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
)
const request = fc.record({
  method: fc.constantFrom('GET', 'POST', 'POST', 'POST', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'),
  url: fc.oneof(
    fc.constant(COMPLETIONS),
    fc.constant('/compat/models'),
    fc.webPath().map((path) => `/compat/models/${path}`),
    fc.webPath(),
  ),
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'a/b; c',
    '',
  ),
  payload: fc.oneof(
    { weight: 5, arbitrary: body.map((value) => JSON.stringify(value) ?? '') },
    { weight: 1, arbitrary: text },
  ),
})

/** Sends requests of any shape, the same ones each time, and returns those whose answers are a fault of the server. */
export async function sendFuzzed(count: number): Promise<unknown[]> {
  const { app } = await makeServer()
  const faults: unknown[] = []
  for (const batch of chunk(fc.sample(request, { numRuns: count, seed: 7 }), 100)) {
    const sent = batch.map(async ({ method, url, type, payload }) => {
      const withBody = method !== 'GET' && method !== 'HEAD'
      const headers = type === '' ? {} : { 'content-type': type }
      const response = await app.inject({
        method: method as 'GET',
        url: url.startsWith('/') ? url : `/${url}`,
        headers,
        ...(withBody ? { payload } : {}),
      })
      if (!isFine(response.statusCode, response.body, method))
        faults.push([method, url, type, payload, response.statusCode, response.body])
    })
    await Promise.all(sent)
  }
  return faults
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

/** Never our fault, and every refusal a JSON object with one text, `detail`. */
function isFine(status: number, answer: string, method: string): boolean {
  if (status < 400) return true
  if (status >= 500) return false
  if (method === 'HEAD') return true
  const parsed = JSON.parse(answer)
  return Object.keys(parsed).join() === 'detail' && typeof parsed.detail === 'string'
}
