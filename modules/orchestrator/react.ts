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
  Type,
} from 'agent-host'
import { type Budget, BudgetSpent, stepLimits, withinBudget } from './lib/budget.ts'
import { callModel } from './lib/call-model.ts'
import { findAnswer, goesOnByItself, type ReactStep, readInput, readStep } from './lib/react-step.ts'
import { RepeatGuard } from './lib/repeat-guard.ts'
import { systemMessages } from './lib/system-messages.ts'
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
  description: 'Thought, action, observation: tools for models that cannot call any.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  config: Type.Object({
    system_prompt: Type.String({ default: '', description: 'Instructions that every conversation begins with.' }),
    form_prompt: Type.String({
      default: FORM,
      description:
        'Tells the model the form in which it thinks and acts, after the system prompt. {tools} and {tool_names} are filled in.',
    }),
    reminder_prompt: Type.String({
      default: REMINDER,
      description: 'What the model is told when it has kept to no form.',
    }),
    stop: Type.Array(Type.String({ minLength: 1 }), {
      default: ['\nObservation:'],
      description: 'Where the model is asked to stop. Empty for models that refuse to be told.',
    }),
    show_reasoning: Type.Boolean({
      default: false,
      description:
        'Thoughts, actions and observations are part of the answer. Otherwise thoughts are told as progress.',
    }),
    ...stepLimits,
  }),
  create: ({ llm, tools: providers, history, response }, config) => ({
    handleText: (_text, run) =>
      withinBudget(config, run, response, async (budget) => {
        const { system_prompt, form_prompt, reminder_prompt, stop, show_reasoning, max_steps, max_repeats } = config
        const tools = await Toolbox.open(providers, budget.run)
        const guard = new RepeatGuard(max_repeats)
        const prompts = [system_prompt, fillIn(form_prompt, tools.definitions)]
        const messages = [...systemMessages(prompts, run), ...(await history.getHistory(budget.run))]
        for (let step = 1; step <= max_steps; step++) {
          budget.check()
          const { written, taken } = await takeStep(llm, { messages, stop }, budget, response)
          if (taken.kind === 'answer') return
          messages.push({ role: 'assistant', content: taken.kind === 'action' ? taken.text : written })
          const observed =
            taken.kind === 'action' ? `Observation: ${await act(taken, tools, guard, budget)}` : reminder_prompt
          messages.push({ role: 'user', content: observed })
          await show(written, observed, show_reasoning, response, run)
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

/** Asks for one step. A final answer goes out as it comes. */
async function takeStep(
  llm: LLM,
  { messages, stop }: { messages: readonly Message[]; stop: readonly string[] },
  budget: Budget,
  response: Response,
): Promise<{ written: string; taken: ReactStep }> {
  let written = ''
  let said = 0
  await callModel(llm, { messages, ...(stop.length > 0 ? { stop } : {}) }, budget, async (piece) => {
    written += piece
    if (goesOnByItself(written)) return false
    const begin = findAnswer(written)
    if (begin === undefined) return undefined
    const answer = written.slice(begin).replace(/^\s+/, '')
    if (answer.length > said) await response.respondText(answer.slice(said))
    said = answer.length
    return undefined
  })
  const taken = readStep(written)
  if (taken.kind === 'answer' && said === 0) await response.respondText(taken.answer)
  return { written, taken }
}

async function act(
  { tool, input }: ReactStep & { kind: 'action' },
  tools: Toolbox,
  guard: RepeatGuard,
  { run }: Budget,
): Promise<string> {
  let args: Record<string, unknown>
  try {
    args = readInput(
      input,
      tools.definitions.find(({ name }) => name === tool),
    )
  } catch (error) {
    return `Error: ${messageOf(error)}`
  }
  const call = { id: `call_${randomUUID()}`, name: tool, arguments: args }
  guard.check([call])
  const observation = await tools.execute(call, run)
  guard.note(call, observation)
  return observation
}

async function show(written: string, observed: string, isShown: boolean, response: Response, run: Run): Promise<void> {
  if (isShown) return response.respondText(`${written.trimEnd()}\n${observed}\n\n`)
  const thought = /Thought:\s*([^\n]+)/i.exec(written)?.[1]
  if (thought !== undefined) run.reportProgress(thought)
}
