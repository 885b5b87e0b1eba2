import {
  defineModule,
  LLM,
  type LLMRequest,
  type Message,
  many,
  messageOf,
  type Run,
  raceAbort,
  sumUsage,
  Type,
  type Usage,
} from 'agent-host'
import { noAnswer } from './lib/no-answer.ts'

const JUDGE =
  'Above are the answers of several assistants to this conversation. Write the one answer that the user gets: keep what is right and well said, leave out what is wrong, and do not mention the assistants.'

export default defineModule({
  name: 'CombinatorLLM',
  description: 'Calls several models in parallel and combines their answers.',
  provides: [LLM],
  uses: { llms: many(LLM) },
  attachments: 'model',
  config: Type.Object({
    merge: Type.Union([Type.Literal('judge'), Type.Literal('concatenate')], {
      default: 'judge',
      description:
        'judge: the last model reads the answers of the others and writes the final one. concatenate: all answers in order.',
    }),
    headings: Type.Array(Type.String(), {
      default: [],
      description: 'Headings above the answers, in the order of the models. Default: Answer 1, Answer 2, ...',
    }),
    judge_prompt: Type.String({
      default: JUDGE,
      variant: true,
      description: 'Instruction for the judge, after the answers.',
    }),
  }),
  create: ({ llms }, { merge, headings, judge_prompt }, { log, moduleId }) => {
    const judge = merge === 'judge' ? llms.at(-1) : undefined
    const asked = judge ? llms.slice(0, -1) : llms
    if (asked.length === 0) {
      const needs = judge ? 'at least two models: the last one judges the others' : 'a model to ask'
      throw new Error(`Module '${moduleId}' (llm/combinator) needs ${needs}.`)
    }
    const headingOf = (index: number) => headings[index] ?? `Answer ${index + 1}`
    return {
      async *generate(request, run) {
        if (!judge && request.responseSchema) {
          throw new Error(`Module '${moduleId}' (llm/combinator): only a judge can give an answer of a schema.`)
        }
        const answers = await askAll(asked, toQuestion(request), run, (index, error) =>
          log.warn(`model ${index + 1} of ${asked.length} failed: ${messageOf(error)}`),
        )
        const text = answers.map((answer) => `## ${headingOf(answer.index)}\n\n${answer.text.trim()}`).join('\n\n')
        const usage = { type: 'usage' as const, usage: sumUsage(answers.flatMap((answer) => answer.usage)) }
        if (judge) {
          const drafts = { role: 'user' as const, content: `${text}\n\n---\n\n${judge_prompt}` }
          for await (const part of judge.generate({ ...request, messages: [...request.messages, drafts] }, run)) {
            if (part.type === 'finish') yield usage
            yield part
          }
        } else {
          yield { type: 'text', text }
          yield usage
          yield { type: 'finish', reason: answers.some(({ isCut }) => isCut) ? 'length' : 'stop' }
        }
      },
    }
  },
})

/** Only the judge may call tools and answers with a schema: the other answers are read, not acted upon. */
function toQuestion({ messages, temperature, maxOutputTokens, stop }: LLMRequest): LLMRequest {
  return {
    messages: withoutCalls(messages),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop === undefined ? {} : { stop }),
  }
}

/** Calls and their results as text: some vendors refuse them in a request without tools. */
function withoutCalls(messages: readonly Message[]): Message[] {
  return messages.map((message) => {
    if (message.role === 'tool')
      return {
        role: 'user',
        content: `(result of ${message.toolCallId}: ${message.isError ? 'Error: ' : ''}${message.content})`,
      }
    if (message.role !== 'assistant' || !message.toolCalls?.length) return message
    const calls = message.toolCalls.map(({ id, name, arguments: given }) => `(${id}: ${name} ${JSON.stringify(given)})`)
    return { role: 'assistant', content: [message.content, ...calls].filter((text) => text !== '').join('\n') }
  })
}

interface ModelAnswer {
  readonly index: number
  readonly text: string
  readonly usage: readonly Partial<Usage>[]
  readonly isCut: boolean
}

/** The answers of those that gave one, in their order. */
async function askAll(
  llms: readonly LLM[],
  request: LLMRequest,
  run: Run,
  tellFailure: (index: number, error: unknown) => void,
): Promise<ModelAnswer[]> {
  const settled = await raceAbort(
    Promise.allSettled(llms.map((llm, index) => ask(llm, index, request, run))),
    run.signal,
  )
  run.signal.throwIfAborted()
  const failures = settled.flatMap((outcome, index) => {
    if (outcome.status === 'fulfilled') return []
    const reason: unknown = outcome.reason
    tellFailure(index, reason)
    return [reason]
  })
  if (failures.length === llms.length) throw noAnswer(failures)
  return settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
}

async function ask(llm: LLM, index: number, request: LLMRequest, run: Run): Promise<ModelAnswer> {
  const usage: Partial<Usage>[] = []
  let text = ''
  let isCut = false
  for await (const part of llm.generate(request, run)) {
    if (part.type === 'text') text += part.text
    else if (part.type === 'usage') usage.push(part.usage)
    else if (part.type === 'finish') isCut = part.reason === 'length'
  }
  if (text.trim() === '') throw new Error('It said nothing.')
  return { index, text, usage, isCut }
}
