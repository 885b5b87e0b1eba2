import type { ModelExchange } from './model-exchange.ts'

/** Part of a prompt, and the tokens that it takes. */
export interface ContextShare {
  readonly part: string
  readonly tokens: number
}

const CHARS_PER_TOKEN = 4
const PARTS: Readonly<Record<string, string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool results',
}
const TOOLS = 'Tools offered'

/**
 * Divides the tokens of a prompt among its parts, by the lengths of their texts.
 *
 * @param inputTokens counted by the vendor; 0 where nobody did: then they are estimated, too
 */
export function contextShares({ messages, tools }: ModelExchange, inputTokens: number): ContextShare[] {
  const chars = new Map<string, number>()
  const add = (part: string, length: number) => chars.set(part, (chars.get(part) ?? 0) + length)
  for (const part of Object.values(PARTS)) add(part, 0)
  for (const { role, content, toolCalls } of messages) {
    const calls = toolCalls.map(({ name, arguments: args }) => name + JSON.stringify(args)).join('')
    add(PARTS[role] ?? role, content.length + calls.length)
  }
  for (const tool of tools) add(TOOLS, JSON.stringify(tool).length)
  const total = [...chars.values()].reduce((sum, length) => sum + length, 0)
  const tokens = inputTokens > 0 ? inputTokens : Math.ceil(total / CHARS_PER_TOKEN)
  return [...chars]
    .filter(([, length]) => length > 0)
    .map(([part, length]) => ({ part, tokens: Math.round((length / total) * tokens) }))
}
