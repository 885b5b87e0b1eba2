import { ConversationHistory, defineModule, LLM, type Message, messageOf, type Run, Storage, Type } from 'agent-host'
import { countTokens } from './lib/keep-latest.ts'
import { Summaries } from './lib/summaries.ts'

const PROMPT = `Summarize the conversation below for whoever continues it. Keep names, numbers, dates, decisions, what was promised, what the user wants and likes, and what is still open. Leave out greetings and what was taken back. If there is a summary of what came before, take all of it into the new one. Write nothing but the summary.`

export default defineModule({
  name: 'Summarizing',
  description: 'Keeps the latest messages of a conversation and replaces the earlier ones with a summary by a model.',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory, llm: LLM, storage: Storage },
  config: Type.Object({
    max_tokens: Type.Integer({
      minimum: 1,
      default: 4000,
      variant: true,
      description: 'Tokens above which a conversation is summarized. Estimated at four bytes each.',
    }),
    keep_messages: Type.Integer({
      minimum: 1,
      default: 6,
      variant: true,
      description: 'Number of latest messages to keep as they are.',
    }),
    prompt: Type.String({ default: PROMPT, variant: true, description: 'Instruction for the model.' }),
    heading: Type.String({
      variant: true,
      default: 'Summary of the conversation so far:',
      description: 'Heading above the summary in the conversation.',
    }),
  }),
  create: ({ history, llm, storage }, config, { log }) => {
    const { max_tokens, keep_messages, prompt, heading } = config
    const summaries = new Summaries(storage)

    /** Returns the spoken messages, with a summary in place of the first ones. System messages are no part of it. */
    async function compact(spoken: readonly Message[], run: Run): Promise<Message[]> {
      const known = await summaries.find(spoken.slice(0, -1), run)
      const shown = known ? [summaryMessage(known.summary), ...spoken.slice(known.count)] : [...spoken]
      const count = firstToKeep(spoken, keep_messages)
      if (sum(shown) <= max_tokens || count <= (known?.count ?? 0)) return shown
      const summary = await summarize(llm, prompt, known?.summary, spoken.slice(known?.count ?? 0, count), run)
      await summaries.save(spoken.slice(0, count), summary, run)
      if (known) await summaries.remove(spoken.slice(0, known.count), run)
      return [summaryMessage(summary), ...spoken.slice(count)]
    }

    const summaryMessage = (summary: string): Message => ({ role: 'system', content: `${heading}\n${summary}` })

    return {
      async getHistory(run) {
        const messages = await history.getHistory(run)
        const spoken = messages.filter(({ role }) => role !== 'system')
        if (sum(spoken) <= max_tokens) return messages
        if (!run) throw new Error('conversation/summarizing asks a model, and needs the run: call getHistory(run).')
        const ofSystem = messages.filter(({ role }) => role === 'system')
        try {
          return [...ofSystem, ...(await compact(spoken, run))]
        } catch (error) {
          run.signal.throwIfAborted()
          log.warn(`the conversation is shown whole, because it could not be summarized: ${messageOf(error)}`)
          return messages
        }
      },
      addMessage: (message, run) => history.addMessage(message, run),
      clearHistory: (run) => history.clearHistory(run),
    }
  },
})

/** The question is always kept, and no answer of a tool without its call. */
function firstToKeep(spoken: readonly Message[], count: number): number {
  const question = spoken.findLastIndex(({ role }) => role === 'user')
  let first = Math.max(0, Math.min(question, spoken.length - count))
  while (first > 0 && spoken[first]?.role === 'tool') first--
  return first
}

async function summarize(
  llm: LLM,
  prompt: string,
  before: string | undefined,
  messages: readonly Message[],
  run: Run,
): Promise<string> {
  const lines = messages.map(toLine)
  const content = [...(before === undefined ? [] : [`Summary of what came before:\n${before}`]), ...lines].join('\n\n')
  let summary = ''
  const request: Message[] = [
    { role: 'system', content: prompt },
    { role: 'user', content },
  ]
  // The options of the client are for the answer.
  for await (const part of llm.generate({ messages: request }, run.with({ requestOptions: {} }))) {
    if (part.type === 'text') summary += part.text
    else if (part.type === 'usage') run.addUsage(part.usage)
  }
  if (summary.trim() === '') throw new Error('the model gave an empty summary.')
  return summary.trim()
}

/** A message with the calls that it makes: their results alone do not tell what was done. */
function toLine(message: Message): string {
  const calls = (message.role === 'assistant' && message.toolCalls) || []
  const called = calls.map(({ name, arguments: args }) => `[calls ${name} ${JSON.stringify(args)}]`)
  return `${message.role}: ${[message.content, ...called].filter((text) => text !== '').join('\n')}`
}

function sum(messages: readonly Message[]): number {
  return messages.reduce((total, message) => total + countTokens(message), 0)
}
