import { fetchWithinOrigin, limitBody } from 'agent-host'
import { MAX_WHOLE_BYTES } from './vendor-fetch.ts'

/**
 * The fetch of an SDK of the Messages API that asks for the number of tokens in the place of an answer: an answer of no words has it as its usage.
 */
export const countFetch: typeof fetch = async (input, init) => {
  const { model, messages, system, tools, tool_choice, thinking } = JSON.parse(String(init?.body))
  const body = JSON.stringify({ model, messages, system, tools, tool_choice, thinking })
  const response = limitBody(await fetchWithinOrigin(`${input}/count_tokens`, { ...init, body }), MAX_WHOLE_BYTES)
  if (!response.ok) return response
  const { input_tokens } = (await response.json()) as { input_tokens: number }
  const usage = { input_tokens, output_tokens: 0 }
  const message = { id: 'count', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  return new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } })
}
