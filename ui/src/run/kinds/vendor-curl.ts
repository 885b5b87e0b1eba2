import type { ModelMessage } from '../../components/model-message.ts'
import { quoteShell } from '../../snippets/quote-shell.ts'
import type { ModelExchange } from './model-exchange.ts'

/** Writes the request of a model call as a curl command for the API of its vendor. Keys stand as variables. */
export function vendorCurl(exchange: ModelExchange, reference: string, model: string | null): string {
  const name = model ?? 'MODEL'
  return reference.includes('anthropic')
    ? anthropicCurl(exchange, name)
    : chatCurl(exchange, name, addressOf(reference))
}

interface Address {
  readonly url: string
  readonly key: string
}

function addressOf(reference: string): Address {
  if (reference.includes('ollama')) return { url: 'http://127.0.0.1:11434/v1/chat/completions', key: 'OLLAMA_API_KEY' }
  if (reference.includes('google')) {
    const url = 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions'
    return { url, key: 'GOOGLE_GENERATIVE_AI_API_KEY' }
  }
  if (reference.includes('compatible')) return { url: '$BASE_URL/chat/completions', key: 'API_KEY' }
  return { url: 'https://api.openai.com/v1/chat/completions', key: 'OPENAI_API_KEY' }
}

function chatCurl({ messages, tools, parameters }: ModelExchange, model: string, { url, key }: Address): string {
  const { temperature, maxOutputTokens, stop } = parameters
  const body = {
    model,
    messages: messages.map(toChatMessage),
    ...(tools.length > 0 ? { tools: tools.map((tool) => ({ type: 'function', function: tool })) } : {}),
    ...given({ temperature, max_completion_tokens: maxOutputTokens, stop }),
  }
  return writeCurl(url, [`Authorization: Bearer $${key}`], body)
}

function toChatMessage(
  { role, content, toolCalls }: ModelMessage,
  index: number,
  all: readonly ModelMessage[],
): object {
  if (role === 'tool') return { role, tool_call_id: answeredId(all, index), content }
  if (toolCalls.length === 0) return { role, content }
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))
  return { role, content, tool_calls: calls }
}

function anthropicCurl({ messages, tools, parameters }: ModelExchange, model: string): string {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : [])).join('\n\n')
  const body = {
    model,
    max_tokens: parameters.maxOutputTokens ?? 4096,
    ...given({ system: system || undefined, temperature: parameters.temperature }),
    messages: messages.flatMap((message, index) =>
      message.role === 'system' ? [] : [toAnthropicMessage(message, index, messages)],
    ),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters: schema }) => ({
            name,
            description,
            input_schema: schema,
          })),
        }
      : {}),
  }
  const headers = ['x-api-key: $ANTHROPIC_API_KEY', 'anthropic-version: 2023-06-01']
  return writeCurl('https://api.anthropic.com/v1/messages', headers, body)
}

function toAnthropicMessage(message: ModelMessage, index: number, all: readonly ModelMessage[]): object {
  const { role, content, toolCalls } = message
  if (role === 'tool') {
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: answeredId(all, index), content }] }
  }
  if (toolCalls.length === 0) return { role, content }
  const uses = toolCalls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input }))
  return { role, content: [...(content === '' ? [] : [{ type: 'text', text: content }]), ...uses] }
}

/** Id of the call that a tool's message answers: answers stand in the order of the calls. */
function answeredId(messages: readonly ModelMessage[], index: number): string {
  let asked = index
  while (asked > 0 && messages[asked]?.role === 'tool') asked--
  return messages[asked]?.toolCalls[index - asked - 1]?.id ?? ''
}

function given(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}

function writeCurl(url: string, headers: readonly string[], body: object): string {
  return [
    `curl "${url}" \\`,
    '  -H "Content-Type: application/json" \\',
    ...headers.map((header) => `  -H "${header}" \\`),
    `  -d ${quoteShell(JSON.stringify(body, null, 2))}`,
  ].join('\n')
}
