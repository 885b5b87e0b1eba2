import {
  type Attachment,
  defineModule,
  LLM,
  type LLMPart,
  type LLMRequest,
  type Message,
  pairCalls,
  type ToolDefinition,
  Type,
} from 'agent-host'
import { answerSchema, fillArguments } from './lib/offline-arguments.ts'
import { pickTool } from './lib/offline-choice.ts'

const HOW_TO_SWITCH =
  'Set the key of a vendor, such as OPENAI_API_KEY, in .env and start again, or name a module such as llm/openai-compatible, to talk to a real model.'
const WHAT_I_AM = `I am the offline model: no network, no key. ${HOW_TO_SWITCH}`

export default defineModule({
  name: 'OfflineLLM',
  description:
    'A stand-in for a model, without network or key: calls the tool that matches the question and reports its result, answers schemas, and lists attachments.',
  provides: [LLM],
  scope: 'agent',
  attachments: ['*/*'],
  config: Type.Object({
    introduce: Type.Boolean({
      default: true,
      description: 'Add a sentence to the first answer that says how to switch to a real model.',
    }),
  }),
  create: (_, { introduce }) => {
    let isIntroduced = !introduce
    /** The first answer in prose ends with the introduction, unless it quotes an agent that has introduced itself. */
    const introduceOnce = (text: string) => {
      if (isIntroduced) return text
      isIntroduced = true
      return text.includes(WHAT_I_AM) ? text : `${text}\n\n(${WHAT_I_AM})`
    }
    return {
      modelInfo: { name: 'offline', provider: 'agent-host' },
      async *generate(request, run) {
        for (const part of answer(request, introduceOnce)) {
          run.signal.throwIfAborted()
          yield part
        }
      },
    }
  },
})

function* answer(request: LLMRequest, introduceOnce: (text: string) => string): Generator<LLMPart> {
  const { messages, tools = [], toolChoice, responseSchema } = request
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const question = messages[asked]?.content ?? ''
  const results = messages.slice(asked + 1).filter((message) => message.role === 'tool')
  const tool = results.length === 0 ? choose(question, tools, toolChoice) : undefined
  if (tool) {
    yield {
      type: 'tool_call',
      call: { id: `call_${messages.length}`, name: tool.name, arguments: fillArguments(question, tool) },
    }
    yield { type: 'finish', reason: 'tool_calls' }
    return
  }
  const report = tellResults(messages.slice(asked + 1))
  const text = responseSchema
    ? JSON.stringify(answerSchema([question, report].join('\n'), responseSchema))
    : introduceOnce(inProse(request, asked, report))
  for (const piece of text.match(/\S+\s*|\s+/g) ?? []) yield { type: 'text', text: piece }
  yield { type: 'finish', reason: 'stop' }
}

function choose(
  question: string,
  tools: readonly ToolDefinition[],
  choice: LLMRequest['toolChoice'] = 'auto',
): ToolDefinition | undefined {
  if (choice === 'none') return undefined
  if (typeof choice === 'object') return tools.find(({ name }) => name === choice.tool)
  return pickTool(question, tools) ?? (choice === 'required' ? tools[0] : undefined)
}

function inProse({ messages, tools = [] }: LLMRequest, asked: number, report: string): string {
  const got = sayWhatItGot(messages.slice(asked))
  if (report !== '') return report + got
  return [...(got === '' ? [] : [got.trim()]), sayWhatItCan(tools)].join('\n\n')
}

/** Attachments of the question and of tool results. */
function sayWhatItGot(messages: readonly Message[]): string {
  const attachments = messages.flatMap((message) => ('attachments' in message ? (message.attachments ?? []) : []))
  return attachments.length === 0 ? '' : `\nI got, and cannot look at: ${attachments.map(nameOf).join(', ')}.`
}

function nameOf({ mediaType, data, name }: Attachment): string {
  const size = data instanceof URL ? 'by address' : `${data.byteLength} bytes`
  return `${name === undefined ? '' : `${name}, `}${mediaType} (${size})`
}

function tellResults(turn: readonly Message[]): string {
  const names = new Map(pairCalls(turn).map(({ call, answeredAt }) => [answeredAt, call.name]))
  return turn
    .flatMap((message, index) => {
      if (message.role !== 'tool') return []
      return [`${names.get(index) ?? 'The tool'} ${message.isError ? 'failed' : 'says'}: ${message.content}`]
    })
    .join('\n')
}

function sayWhatItCan(tools: readonly ToolDefinition[]): string {
  if (tools.length === 0) return 'I have no tools, so there is nothing that I can find out.'
  const known = tools.map(({ name, description }) => `- ${name}: ${description.split('\n')[0]}`)
  return `None of my tools fits that. I can use:\n${known.join('\n')}`
}
