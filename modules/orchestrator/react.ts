import { randomUUID } from 'node:crypto'
import {
  ConversationHistory,
  defineModule,
  LLM,
  type Message,
  many,
  messageOf,
  Response,
  type Run,
  TextMessageHandler,
  type ToolDefinition,
  ToolProvider,
  type ToolResult,
  Type,
} from 'agent-host'
import { type Budget, BudgetSpent, stepLimits, withinBudget } from './lib/budget.ts'
import { type CallOptions, callModel } from './lib/call-model.ts'
import { ExpectedAnswer } from './lib/expected-answer.ts'
import { asSteps, toObservation } from './lib/react-history.ts'
import { AnswerSearch, type ReactStep, readInput, readStep } from './lib/react-step.ts'
import { RepeatGuard } from './lib/repeat-guard.ts'
import { systemMessages, systemPrompt } from './lib/system-messages.ts'
import { Toolbox } from './lib/toolbox.ts'

const FORM = `Answer the question as well as you can. You can use these tools:

{tools}

Write in this form, and stop after an Action Input:

Thought: what you know, and what is missing
Action: the tool to use, one of: {tool_names}
Action Input: its arguments as a JSON object

You are then told:

Observation: what the tool answered

Thought, Action, Action Input and Observation can be repeated. When you know enough, write:

Thought: I know the answer.
Final Answer: the answer to the question`

const REMINDER = `I cannot read that. Write either "Action:" and "Action Input:", or "Final Answer:".`

export default defineModule({
  name: 'ReAct',
  description: 'Thought, action, observation: tools for models without native tool calls.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  attachments: 'model',
  config: Type.Object({
    system_prompt: systemPrompt,
    form_prompt: Type.String({
      default: FORM,
      variant: true,
      description:
        'Explains the format of thoughts and actions to the model, after the system prompt. {tools} and {tool_names} are filled in.',
    }),
    reminder_prompt: Type.String({
      default: REMINDER,
      variant: true,
      description: 'Reminds the model of the format when its answer does not follow it.',
    }),
    stop: Type.Array(Type.String({ minLength: 1 }), {
      default: ['\nObservation:'],
      description: 'Stop sequences for the model. Empty for models that do not support them.',
    }),
    show_reasoning: Type.Boolean({
      default: false,
      description:
        'Include thoughts, actions and observations in the answer. Otherwise thoughts are reported as progress.',
    }),
    ...stepLimits,
  }),
  create: ({ llm, tools: providers, history, response }, config, { providersFor }) => ({
    handleText: (_text, run) =>
      withinBudget(config, run, response, async (budget) => {
        const { system_prompt, form_prompt, reminder_prompt, stop, show_reasoning, max_steps, max_repeats } = config
        const tools = await Toolbox.open(providers, providersFor('tools'), budget.run)
        const guard = new RepeatGuard(max_repeats)
        const expected = ExpectedAnswer.of(run)
        const prompts = [system_prompt, fillIn(form_prompt, tools.definitions), ...promptsOf(run)]
        const messages = [...systemMessages(prompts, run), ...asSteps(await history.getHistory(budget.run))]
        for (let count = 1; count <= max_steps; count++) {
          budget.check()
          const step = await takeStep(llm, { messages, stop }, budget, response, expected)
          if (step === 'answered') return
          const { written, taken } = step
          messages.push({ role: 'assistant', content: taken.kind === 'action' ? taken.text : written })
          const observed = await observe(step, tools, guard, budget, reminder_prompt)
          messages.push(observed)
          await show(written, observed.content, show_reasoning, response, run)
        }
        throw new BudgetSpent('max_steps', `I stopped after ${max_steps} steps without coming to an answer.`)
      }),
  }),
})

function fillIn(prompt: string, tools: readonly ToolDefinition[]): string {
  const described = tools.map(
    ({ name, description, parameters }) => `- ${name}: ${description} Arguments: ${JSON.stringify(parameters)}`,
  )
  // A function, because a description may hold the `$&` of a replacement.
  return prompt
    .replaceAll('{tools}', () => described.join('\n') || '(none)')
    .replaceAll('{tool_names}', () => tools.map(({ name }) => name).join(', ') || '(none)')
}

/** Returns the prompts for the request options of the run, in the words of the form. */
function promptsOf({ requestOptions: { toolChoice, responseSchema } }: Run): string[] {
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object'
  const action = typeof toolChoice === 'object' ? `the Action ${toolChoice.tool}` : 'an Action'
  return [
    ...(isForced ? [`Begin with ${action}.`] : []),
    ...(toolChoice === 'none' ? ['Use no tool: write the Final Answer.'] : []),
    ...(responseSchema ? [`The Final Answer is nothing but JSON that fits: ${JSON.stringify(responseSchema)}`] : []),
  ]
}

interface TakenStep {
  readonly written: string
  readonly taken: ReactStep
  /** Set for an answer that is not in the form that the client wants. */
  readonly correction?: string
}

/** Asks for one step. A final answer goes out as it comes, unless it has to be checked first. */
async function takeStep(
  llm: LLM,
  { messages, stop }: { messages: readonly Message[]; stop: readonly string[] },
  budget: Budget,
  response: Response,
  expected: ExpectedAnswer | undefined,
): Promise<TakenStep | 'answered'> {
  let written = ''
  let hasSaid = false
  const search = new AnswerSearch()
  const onText = (piece: string) => {
    written += piece
    const said = search.take(piece)
    if (!said || expected) return said === false ? false : undefined
    hasSaid = true
    return response.respondText(said)
  }
  const onReasoning: CallOptions['onReasoning'] = (...piece) => response.respondReasoning(...piece)
  const request = { messages, ...(stop.length > 0 ? { stop } : {}) }
  const { isCut } = await callModel(llm, request, budget, { onText, onReasoning })
  const taken = readStep(written)
  if (taken.kind !== 'answer') return { written, taken }
  const read = expected?.read({ text: taken.answer, isCut }) ?? { text: taken.answer }
  if ('correction' in read) return { written, taken, correction: read.correction }
  if (!hasSaid) await response.respondText(read.text)
  return 'answered'
}

/** The message that follows a step without a final answer. */
async function observe(
  { taken, correction }: TakenStep,
  tools: Toolbox,
  guard: RepeatGuard,
  budget: Budget,
  reminder: string,
): Promise<Message> {
  if (taken.kind !== 'action') return { role: 'user', content: correction ?? reminder }
  return toObservation(await act(taken, tools, guard, budget))
}

async function act(
  { tool, input }: ReactStep & { kind: 'action' },
  tools: Toolbox,
  guard: RepeatGuard,
  { run }: Budget,
): Promise<ToolResult> {
  let args: Record<string, unknown>
  try {
    args = readInput(
      input,
      tools.definitions.find(({ name }) => name === tool),
    )
  } catch (error) {
    return { text: messageOf(error), isError: true }
  }
  const call = { id: `call_${randomUUID()}`, name: tool, arguments: args }
  guard.check([call])
  const result = await tools.execute(call, run)
  guard.note(call, result.text)
  return result
}

async function show(written: string, observed: string, isShown: boolean, response: Response, run: Run): Promise<void> {
  if (isShown) return response.respondText(`${written.trimEnd()}\n${observed}\n\n`)
  const thought = /Thought:\s*([^\n]+)/i.exec(written)?.[1]
  if (thought !== undefined) run.reportProgress(thought)
}
