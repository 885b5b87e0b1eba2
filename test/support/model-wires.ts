import { crc32 } from 'node:zlib'
import { event } from './fake-model-server.ts'

/** What a fake model answers, whatever the wire. Numbers of its usage are always those of {@link USAGE}. */
export interface Script {
  readonly reasoning?: readonly string[]
  readonly text?: readonly string[]
  /** `json` is the text of the arguments, in pieces. */
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly json: readonly string[] }[]
  /** `failed` and `unheard`: a reason that says so, and one of the future. */
  readonly end?: 'stop' | 'length' | 'failed' | 'unheard'
  /** Stop sequence that ended the text. Most wires say no more than `stop` then. */
  readonly stopSequence?: string
}

/** How a vendor's API answers. */
export interface Wire {
  readonly contentType: string
  /** The answer, in the pieces that go over the wire. The last of them says that it has ended. */
  answer(script: Script): (string | Uint8Array)[]
  /** An error of these words, in the middle of an answer. */
  error(message: string): string | Uint8Array
  /** Body of a refusal. */
  refusal(message: string): object
}

type Reasons = Readonly<Partial<Record<NonNullable<Script['end']>, string>>>
const RESPONSES_REASONS: Reasons = { length: 'max_output_tokens', failed: 'server_error', unheard: 'brand_new' }
const CHAT_REASONS: Reasons = { length: 'length', failed: 'error', unheard: 'brand_new' }
const ANTHROPIC_REASONS: Reasons = { length: 'max_tokens', failed: 'api_error', unheard: 'brand_new' }
const GEMINI_REASONS: Reasons = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  failed: 'MALFORMED_FUNCTION_CALL',
  unheard: 'BRAND_NEW',
}
const BEDROCK_REASONS: Reasons = { length: 'max_tokens', failed: 'malformed_model_output', unheard: 'brand_new' }

const named = (body: { readonly type: string }) => `event: ${body.type}\n${event(body)}`
const SSE = 'text/event-stream'

/** platform.openai.com/docs/api-reference/responses-streaming */
export const responsesWire: Wire = {
  contentType: SSE,
  answer({ reasoning = [], text = [], calls = [], end = 'stop' }) {
    let index = -1
    const base = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] }
    const events: { readonly type: string }[] = [item('response.created', { response: base })]
    if (reasoning.length > 0) {
      index++
      const thought = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: null }
      const place = { item_id: 'rs_1', output_index: index, summary_index: 0 }
      events.push(
        item('response.output_item.added', { output_index: index, item: thought }),
        item('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } }),
        ...reasoning.map((delta) => item('response.reasoning_summary_text.delta', { ...place, delta })),
        item('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text: '' } }),
        item('response.output_item.done', {
          output_index: index,
          item: {
            ...thought,
            encrypted_content: 'sealed',
            summary: [{ type: 'summary_text', text: reasoning.join('') }],
          },
        }),
      )
    }
    if (text.length > 0) {
      index++
      const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
      const place = { item_id: 'msg_1', output_index: index, content_index: 0 }
      const part = { type: 'output_text', text: text.join(''), annotations: [] }
      events.push(
        item('response.output_item.added', { output_index: index, item: message }),
        item('response.content_part.added', { ...place, part: { ...part, text: '' } }),
        ...text.map((delta) => item('response.output_text.delta', { ...place, delta, logprobs: [] })),
        item('response.output_text.done', { ...place, text: part.text, logprobs: [] }),
        item('response.content_part.done', { ...place, part }),
        item('response.output_item.done', {
          output_index: index,
          item: { ...message, status: 'completed', content: [part] },
        }),
      )
    }
    for (const { id, name, json } of calls) {
      index++
      const call = { id: `fc_${id}`, type: 'function_call', status: 'in_progress', call_id: id, name, arguments: '' }
      const place = { item_id: call.id, output_index: index }
      events.push(
        item('response.output_item.added', { output_index: index, item: call }),
        ...json.map((delta) => item('response.function_call_arguments.delta', { ...place, delta })),
        item('response.function_call_arguments.done', { ...place, arguments: json.join('') }),
        item('response.output_item.done', {
          output_index: index,
          item: { ...call, status: 'completed', arguments: json.join('') },
        }),
      )
    }
    const usage = {
      input_tokens: USAGE.inputTokens,
      input_tokens_details: { cached_tokens: USAGE.cachedInputTokens },
      output_tokens: USAGE.outputTokens,
      output_tokens_details: { reasoning_tokens: USAGE.reasoningTokens },
      total_tokens: USAGE.inputTokens + USAGE.outputTokens,
    }
    const ended =
      end === 'stop'
        ? { type: 'response.completed', response: { ...base, status: 'completed', usage } }
        : {
            type: 'response.incomplete',
            response: { ...base, status: 'incomplete', incomplete_details: { reason: RESPONSES_REASONS[end] }, usage },
          }
    return [...events, ended].map((body, sequence_number) => named({ ...body, sequence_number } as { type: string }))
  },
  error: (message) =>
    named({
      type: 'response.failed',
      sequence_number: 9,
      response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message } },
    } as { type: string }),
  refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
}

function item(type: string, facts: object): { readonly type: string } {
  return { type, ...facts }
}

/** platform.openai.com/docs/api-reference/chat-streaming; `reasoning_content` and `reasoning` are what others added. */
export function chatWire({ reasoningField = 'reasoning_content', details = true } = {}): Wire {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    })
  return {
    contentType: SSE,
    answer({ reasoning = [], text = [], calls = [], end = 'stop' }) {
      const usage = {
        prompt_tokens: USAGE.inputTokens,
        completion_tokens: USAGE.outputTokens,
        total_tokens: USAGE.inputTokens + USAGE.outputTokens,
        ...(details
          ? {
              prompt_tokens_details: { cached_tokens: USAGE.cachedInputTokens },
              completion_tokens_details: { reasoning_tokens: USAGE.reasoningTokens },
            }
          : {}),
      }
      return [
        chunk({ role: 'assistant', content: '' }),
        ...reasoning.map((delta) => chunk({ [reasoningField]: delta })),
        ...text.map((content) => chunk({ content })),
        ...calls.flatMap(({ id, name, json }, index) => [
          chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
          ...json.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
        ]),
        chunk({}, CHAT_REASONS[end] ?? (calls.length > 0 ? 'tool_calls' : end)),
        event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }),
        'data: [DONE]\n\n',
      ]
    },
    error: (message) => event({ error: { message, type: 'server_error', param: null, code: null } }),
    refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  }
}

/** docs.anthropic.com/en/docs/build-with-claude/streaming */
export const anthropicWire: Wire = {
  contentType: SSE,
  answer({ reasoning = [], text = [], calls = [], end = 'stop', stopSequence }) {
    const blocks = [
      ...(reasoning.length === 0
        ? []
        : [
            {
              start: { type: 'thinking', thinking: '', signature: '' },
              deltas: [
                ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
                { type: 'signature_delta', signature: 'signed' },
              ],
            },
          ]),
      ...(text.length === 0
        ? []
        : [{ start: { type: 'text', text: '' }, deltas: text.map((piece) => ({ type: 'text_delta', text: piece })) }]),
      ...calls.map(({ id, name, json }) => ({
        start: { type: 'tool_use', id, name, input: {} },
        deltas: ['', ...json].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      })),
    ]
    const usage = {
      input_tokens: USAGE.inputTokens - USAGE.cachedInputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: USAGE.cachedInputTokens,
      output_tokens: 1,
    }
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [],
      model: 'm',
      stop_reason: null,
      stop_sequence: null,
      usage,
    }
    const stopped = stopSequence === undefined ? 'end_turn' : 'stop_sequence'
    const stop_reason = ANTHROPIC_REASONS[end] ?? (calls.length > 0 ? 'tool_use' : stopped)
    return [
      item('message_start', { message }),
      item('ping', {}),
      ...blocks.flatMap(({ start, deltas }, index) => [
        item('content_block_start', { index, content_block: start }),
        ...deltas.map((delta) => item('content_block_delta', { index, delta })),
        item('content_block_stop', { index }),
      ]),
      item('message_delta', {
        delta: { stop_reason, stop_sequence: stopSequence ?? null },
        usage: { output_tokens: USAGE.outputTokens },
      }),
      item('message_stop', {}),
    ].map(named)
  },
  error: (message) => named(item('error', { error: { type: 'overloaded_error', message } })),
  refusal: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' }),
}

/** ai.google.dev/api/generate-content#method:-models.streamgeneratecontent with alt=sse. A call comes whole. */
export const geminiWire: Wire = {
  contentType: SSE,
  answer({ reasoning = [], text = [], calls = [], end = 'stop' }) {
    const usageMetadata = {
      promptTokenCount: USAGE.inputTokens,
      cachedContentTokenCount: USAGE.cachedInputTokens,
      candidatesTokenCount: USAGE.outputTokens - USAGE.reasoningTokens,
      thoughtsTokenCount: USAGE.reasoningTokens,
      totalTokenCount: USAGE.inputTokens + USAGE.outputTokens,
    }
    const candidates = (parts: object[], more = {}) => [{ content: { parts, role: 'model' }, index: 0, ...more }]
    const chunk = (parts: object[]) => event({ candidates: candidates(parts), modelVersion: 'm', responseId: 'r' })
    const callParts = calls.map(({ id, name, json }, index) => ({
      functionCall: { id, name, args: JSON.parse(json.join('')) },
      // Of several calls the first carries the signature.
      ...(index === 0 ? { thoughtSignature: 'signed' } : {}),
    }))
    return [
      ...reasoning.map((piece) => chunk([{ text: piece, thought: true }])),
      ...text.map((piece) => chunk([{ text: piece }])),
      ...(callParts.length > 0 ? [chunk(callParts)] : []),
      event({
        candidates: candidates([{ text: '' }], { finishReason: GEMINI_REASONS[end] }),
        usageMetadata,
        modelVersion: 'm',
        responseId: 'r',
      }),
    ]
  },
  error: (message) => event({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
  refusal: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
}

/** docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, in Amazon's event stream encoding. */
export const bedrockWire: Wire = {
  contentType: 'application/vnd.amazon.eventstream',
  answer({ reasoning = [], text = [], calls = [], end = 'stop', stopSequence }) {
    const blocks: { readonly start?: object; readonly deltas: readonly object[] }[] = [
      ...(reasoning.length === 0
        ? []
        : [
            {
              deltas: [
                ...reasoning.map((piece) => ({ reasoningContent: { text: piece } })),
                { reasoningContent: { signature: 'signed' } },
              ],
            },
          ]),
      ...(text.length === 0 ? [] : [{ deltas: text.map((piece) => ({ text: piece })) }]),
      ...calls.map(({ id, name, json }) => ({
        start: { toolUse: { toolUseId: id, name } },
        deltas: json.map((input) => ({ toolUse: { input } })),
      })),
    ]
    const stopped = stopSequence === undefined ? 'end_turn' : 'stop_sequence'
    const stopReason = BEDROCK_REASONS[end] ?? (calls.length > 0 ? 'tool_use' : stopped)
    const more = { additionalModelResponseFields: { delta: { stop_sequence: stopSequence ?? null } } }
    const usage = {
      inputTokens: USAGE.inputTokens - USAGE.cachedInputTokens,
      outputTokens: USAGE.outputTokens,
      totalTokens: USAGE.inputTokens + USAGE.outputTokens,
      cacheReadInputTokens: USAGE.cachedInputTokens,
    }
    return [
      frame('event', 'messageStart', { role: 'assistant' }),
      ...blocks.flatMap(({ start, deltas }, contentBlockIndex) => [
        ...(start ? [frame('event', 'contentBlockStart', { start, contentBlockIndex })] : []),
        ...deltas.map((delta) => frame('event', 'contentBlockDelta', { delta, contentBlockIndex })),
        frame('event', 'contentBlockStop', { contentBlockIndex }),
      ]),
      frame('event', 'messageStop', { stopReason, ...more }),
      frame('event', 'metadata', { usage, metrics: { latencyMs: 1 } }),
    ]
  },
  error: (message) => frame('exception', 'modelStreamErrorException', { message }),
  refusal: (message) => ({ message }),
}

/** smithy.io/2.0/aws/amazon-eventstream.html: lengths, their checksum, headers, payload, checksum of all. */
function frame(kind: 'event' | 'exception', type: string, payload: object): Uint8Array {
  const headers = Buffer.concat(
    Object.entries({ [`:${kind}-type`]: type, ':content-type': 'application/json', ':message-type': kind }).map(
      ([name, value]) => {
        const length = Buffer.alloc(3)
        length.writeUInt8(7)
        length.writeUInt16BE(value.length, 1)
        return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), length, Buffer.from(value)])
      },
    ),
  )
  const body = Buffer.from(JSON.stringify({ ...payload, p: 'abcdef' }))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(headers.length + body.length + 16)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, headers, body])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(message))
  return Buffer.concat([message, checksum])
}

/** What every fake model says that it used. */
export const USAGE = { inputTokens: 11, outputTokens: 7, cachedInputTokens: 5, reasoningTokens: 2 }
