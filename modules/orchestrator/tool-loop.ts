import {
  ConversationHistory,
  defineModule,
  LLM,
  type LLMRequest,
  type Message,
  many,
  Response,
  type Run,
  TextMessageHandler,
  type ToolCall,
  ToolProvider,
  Type,
} from 'agent-host'
import { type Budget, BudgetSpent, stepLimits, withinBudget } from './lib/budget.ts'
import { type CallOptions, callModel } from './lib/call-model.ts'
import { ExpectedAnswer } from './lib/expected-answer.ts'
import { RepeatGuard } from './lib/repeat-guard.ts'
import { systemMessages, systemPrompt } from './lib/system-messages.ts'
import { Toolbox } from './lib/toolbox.ts'

export default defineModule({
  name: 'ToolLoop',
  description: 'Lets a model call tools until it can answer.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  attachments: 'model',
  config: Type.Object({
    system_prompt: systemPrompt,
    ...stepLimits,
  }),
  create: (
    { llm, tools: providers, history, response },
    { system_prompt, max_steps, max_repeats, ...limits },
    { providersFor },
  ) => ({
    handleText: (_text, run) =>
      withinBudget(limits, run, response, async (budget) => {
        const tools = await Toolbox.open(providers, providersFor('tools'), budget.run)
        const guard = new RepeatGuard(max_repeats)
        const messages = [...systemMessages([system_prompt], run), ...(await history.getHistory(budget.run))]
        const expected = ExpectedAnswer.of(run)
        const listen = listener(response, expected === undefined)
        for (let step = 1; step <= max_steps; step++) {
          budget.check()
          const request = { messages, tools: tools.definitions, ...optionsOf(run, step) }
          const answer = await callModel(llm, request, budget, listen())
          messages.push(answer.message)
          if (answer.calls.length > 0) {
            guard.check(answer.calls)
            messages.push(...(await executeAll(answer.calls, tools, guard, budget)))
            continue
          }
          const read = expected?.read(answer)
          if (!read) return
          if ('text' in read) return response.respondText(read.text)
          messages.push({ role: 'user', content: read.correction })
        }
        budget.check()
        throw new BudgetSpent('max_steps', `I stopped after ${max_steps} steps without coming to an answer.`)
      }),
  }),
})

/** The client's choice of a tool is for the first step: forced in every step, a model would never answer. */
function optionsOf({ requestOptions: { toolChoice, responseSchema } }: Run, step: number): Partial<LLMRequest> {
  return {
    ...(step === 1 && toolChoice !== undefined ? { toolChoice } : {}),
    ...(responseSchema === undefined ? {} : { responseSchema }),
  }
}

/** Sends text as it arrives. Text before and after a call becomes separate paragraphs. */
function listener(response: Response, isTextSent: boolean): () => CallOptions {
  let last = ''
  const onReasoning: CallOptions['onReasoning'] = (...piece) => response.respondReasoning(...piece)
  return () => {
    if (!isTextSent) return { onReasoning }
    let gap = last === '' || /\s$/.test(last) ? '' : '\n\n'
    const onText = (piece: string) => {
      last = piece
      const paragraph = gap + piece
      gap = ''
      return response.respondText(paragraph)
    }
    return { onText, onReasoning }
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
      const { text: content, attachments, isError } = await tools.execute(call, run)
      guard.note(call, content)
      return {
        role: 'tool',
        content,
        toolCallId: call.id,
        ...(attachments && attachments.length > 0 ? { attachments } : {}),
        ...(isError ? { isError } : {}),
      }
    }),
  )
}
