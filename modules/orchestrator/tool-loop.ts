import {
  ConversationHistory,
  defineModule,
  LLM,
  type Message,
  many,
  Response,
  TextMessageHandler,
  type ToolCall,
  ToolProvider,
  Type,
} from 'agent-host'
import { type Budget, BudgetSpent, stepLimits, withinBudget } from './lib/budget.ts'
import { callModel } from './lib/call-model.ts'
import { RepeatGuard } from './lib/repeat-guard.ts'
import { systemMessages } from './lib/system-messages.ts'
import { Toolbox } from './lib/toolbox.ts'

export default defineModule({
  name: 'ToolLoop',
  description: 'Lets a model answer, and call tools until it has what it needs.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  config: Type.Object({
    system_prompt: Type.String({ default: '', description: 'Instructions that every conversation begins with.' }),
    ...stepLimits,
  }),
  create: ({ llm, tools: providers, history, response }, { system_prompt, max_steps, max_repeats, ...limits }) => ({
    handleText: (_text, run) =>
      withinBudget(limits, run, response, async (budget) => {
        const tools = await Toolbox.open(providers, budget.run)
        const guard = new RepeatGuard(max_repeats)
        const messages = [...systemMessages([system_prompt], run), ...(await history.getHistory(budget.run))]
        const say = inParagraphs(response)
        for (let step = 1; step <= max_steps; step++) {
          budget.check()
          const { text, calls } = await callModel(llm, { messages, tools: tools.definitions }, budget, say())
          if (calls.length === 0) return
          guard.check(calls)
          messages.push({ role: 'assistant', content: text, toolCalls: calls })
          messages.push(...(await executeAll(calls, tools, guard, budget)))
        }
        budget.check()
        throw new BudgetSpent('max_steps', `I stopped after ${max_steps} steps without coming to an answer.`)
      }),
  }),
})

/** Text goes out as it comes. What is said before a call and after it are two paragraphs. */
function inParagraphs(response: Response): () => (piece: string) => Promise<undefined> {
  let last = ''
  return () => {
    let gap = last === '' || /\s$/.test(last) ? '' : '\n\n'
    return async (piece) => {
      last = piece
      const paragraph = gap + piece
      gap = ''
      await response.respondText(paragraph)
      return undefined
    }
  }
}

/** All at once; their answers stand in the order of the calls. */
function executeAll(
  calls: readonly ToolCall[],
  tools: Toolbox,
  guard: RepeatGuard,
  { run }: Budget,
): Promise<Message[]> {
  return Promise.all(
    calls.map(async (call): Promise<Message> => {
      const content = await tools.execute(call, run)
      guard.note(call, content)
      return { role: 'tool', content, toolCallId: call.id }
    }),
  )
}
