import { quoteShell } from './quote-shell.ts'

/** Returns the address of the server for clients: the folder of this page. */
function baseUrl(): string {
  return new URL('.', location.href).href.replace(/\/$/, '')
}

export interface SnippetSpec {
  readonly model: string
  readonly temperature?: number | undefined
  /** Id of the variant that answers; the agent itself when left out. */
  readonly variant?: string | undefined
  readonly message: string
  readonly hasKey: boolean
}

const VARIANT_HEADER = 'x-agent-variant'

export function curlSnippet({ model, message, hasKey, temperature, variant }: SnippetSpec): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: message }], temperature })
  const header = variant === undefined ? [] : [`  -H "${VARIANT_HEADER}: ${variant}" \\`]
  const key = hasKey ? ['  -H "Authorization: Bearer $CUSTOM_COMPAT_API_KEY" \\'] : []
  return [
    `curl ${baseUrl()}/compat/chat/completions \\`,
    '  -H "Content-Type: application/json" \\',
    ...key,
    ...header,
    `  -d ${quoteShell(body)}`,
  ].join('\n')
}

export function openaiSnippet({ model, message, hasKey, temperature, variant }: SnippetSpec): string {
  const key = hasKey ? 'process.env.CUSTOM_COMPAT_API_KEY' : `'none'`
  return [
    `import OpenAI from 'openai'`,
    '',
    `const client = new OpenAI({ baseURL: '${baseUrl()}/v1', apiKey: ${key} })`,
    'const completion = await client.chat.completions.create({',
    `  model: ${JSON.stringify(model)},`,
    `  messages: [{ role: 'user', content: ${JSON.stringify(message)} }],`,
    ...(temperature === undefined ? [] : [`  temperature: ${temperature},`]),
    variant === undefined ? '})' : `}, { headers: { '${VARIANT_HEADER}': '${variant}' } })`,
    'console.log(completion.choices[0].message.content)',
  ].join('\n')
}

export function pythonSnippet({ model, message, hasKey, temperature, variant }: SnippetSpec): string {
  const key = hasKey ? 'os.environ["CUSTOM_COMPAT_API_KEY"]' : '"none"'
  return [
    ...(hasKey ? ['import os', ''] : []),
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${baseUrl()}/v1", api_key=${key})`,
    'completion = client.chat.completions.create(',
    `    model=${JSON.stringify(model)},`,
    `    messages=[{"role": "user", "content": ${JSON.stringify(message)}}],`,
    ...(temperature === undefined ? [] : [`    temperature=${temperature},`]),
    ...(variant === undefined ? [] : [`    extra_headers={"${VARIANT_HEADER}": "${variant}"},`]),
    ')',
    'print(completion.choices[0].message.content)',
  ].join('\n')
}

/** @param isServed whether the server speaks MCP over HTTP; otherwise a client starts a server of its own */
export function mcpSnippet(isServed: boolean, hasKey: boolean): string {
  const headers = hasKey ? { headers: { Authorization: 'Bearer $MCP_API_KEY' } } : {}
  const server = isServed
    ? { url: `${baseUrl()}/mcp`, ...headers }
    : { command: 'agent-host', args: ['mcp', '--stdio'] }
  return JSON.stringify({ mcpServers: { 'agent-host': server } }, null, 2)
}
