import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { HostError, messageOf } from '../../errors.ts'
import type { Message } from '../../protocols/message.ts'
import type { AnswerListener, Backend } from './backend.ts'

/** The agents of a running server, through its chat adapter. Calls of tools stay on the server. */
export function openRemote(url: string, apiKey: string | undefined): Backend {
  const request = makeRequest(url.replace(/\/+$/, ''), apiKey)
  return {
    async agents() {
      const { data } = (await (await request('/compat/models')).json()) as { data: { id: string }[] }
      return data.map(({ id }) => ({ id, description: '' }))
    },
    async ask(agent, messages, listener) {
      const body = JSON.stringify({ model: agent, stream: true, messages: messages.map(toWire) })
      const response = await request('/compat/chat/completions', { method: 'POST', body, signal: listener.signal })
      const text = await readAnswer(response, listener)
      return { text, toolCalls: [], messages: [...messages, { role: 'assistant', content: text }], waitsFor: [] }
    },
    async close() {},
  }
}

function toWire({ role, content }: Message): { role: string; content: string } {
  return { role, content }
}

function makeRequest(url: string, apiKey: string | undefined) {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  return async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(`${url}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause
      throw new HostError('OPTION_INVALID', `Cannot reach ${url}: ${messageOf((cause as Error).cause ?? cause)}`, {
        suggestions: ['Start the server: agent-host dev', 'Without --url the agents run in this process.'],
        cause,
      })
    })
    if (response.ok) return response
    const text = await response.text()
    const detail = /"detail":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
    throw new HostError('AGENT_FAILED', `${url} answered ${response.status}: ${detail ? JSON.parse(detail) : text}`)
  }
}

async function readAnswer(response: Response, { onText }: AnswerListener): Promise<string> {
  let answer = ''
  const lines = createInterface({ input: Readable.fromWeb(response.body as ReadableStream) })
  for await (const line of lines) {
    if (!line.startsWith('data: {')) continue
    const { choices = [], error } = JSON.parse(line.slice('data: '.length))
    if (error) throw new HostError('AGENT_FAILED', error.message)
    const text: string = choices[0]?.delta?.content ?? ''
    answer += text
    if (text !== '') onText(text)
  }
  return answer
}
