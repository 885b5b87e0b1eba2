import {
  ConversationHistory,
  defineModule,
  type FinishReason,
  LLM,
  type LLMRequest,
  type Message,
  many,
  messageOf,
  Response,
  type Run,
  TextMessageHandler,
  type ToolCall,
  type ToolDefinition,
  ToolProvider,
  Type,
} from 'agent-host'

export default defineModule({
  name: 'ToolLoop',
  description: 'Lets a model answer, and call tools until it has what it needs.',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: many(ToolProvider), history: ConversationHistory, response: Response },
  config: Type.Object({
    system_prompt: Type.String({ default: '', description: 'Instructions that every conversation begins with.' }),
    max_steps: Type.Integer({
      minimum: 1,
      default: 10,
      description: 'How often the model may be asked for one answer.',
    }),
  }),
  create: ({ llm, tools: providers, history, response }, { system_prompt, max_steps }) => ({
    async handleText(_text, run) {
      const tools = await collectTools(providers, run)
      const messages = [...systemMessages(system_prompt, run), ...(await history.getHistory())]
      let gap = ''
      for (let step = 1; step <= max_steps; step++) {
        const { text, calls } = await ask(llm, response, { messages, tools: tools.definitions }, gap, run)
        if (calls.length === 0) return
        // What is said before a call and after it are two paragraphs.
        if (text !== '') gap = /\s$/.test(text) ? '' : '\n\n'
        messages.push({ role: 'assistant', content: text, toolCalls: calls })
        // All at once; their answers stand in the order of the calls.
        messages.push(...(await Promise.all(calls.map((call) => execute(call, tools, run)))))
      }
      run.signal.throwIfAborted()
      run.markIncomplete('max_steps')
      await response.respondText(`${gap}I stopped after ${max_steps} steps without coming to an answer.`)
    },
  }),
})

function systemMessages(systemPrompt: string, run: Run): Message[] {
  const content = [systemPrompt, run.instructions ?? ''].filter((text) => text !== '').join('\n\n')
  return content === '' ? [] : [{ role: 'system', content }]
}

interface Tools {
  readonly definitions: readonly ToolDefinition[]
  readonly providers: ReadonlyMap<string, ToolProvider>
}

async function collectTools(providers: readonly ToolProvider[], run: Run): Promise<Tools> {
  const lists = await Promise.all(providers.map((provider) => provider.listTools(run)))
  const byName = new Map<string, ToolProvider>()
  lists.forEach((definitions, index) => {
    for (const { name } of definitions) {
      if (byName.has(name)) throw collision(name, lists)
      byName.set(name, providers[index] as ToolProvider)
    }
  })
  return { definitions: lists.flat(), providers: byName }
}

/** A provider does not know its id: it is told by its tools. */
function collision(name: string, lists: readonly (readonly ToolDefinition[])[]): Error {
  const owners = lists.map((tools) => tools.map((tool) => tool.name)).filter((names) => names.includes(name))
  const [one, other] = owners.map((names) => names.join(', '))
  return other === undefined
    ? new Error(`A tool provider lists the tool '${name}' twice (its tools: ${one}). Rename one of them.`)
    : new Error(
        `Two tool providers have a tool '${name}': the one with ${one}, and the one with ${other}. Rename it in one of them, or leave it out there.`,
      )
}

/** One answer of the model. Its text goes out as it comes. */
async function ask(
  llm: LLM,
  response: Response,
  request: LLMRequest,
  gap: string,
  run: Run,
): Promise<{ text: string; calls: ToolCall[] }> {
  run.signal.throwIfAborted()
  const calls: ToolCall[] = []
  let text = ''
  for await (const part of llm.generate(request, run)) {
    if (part.type === 'text' && part.text !== '') {
      await response.respondText(text === '' ? gap + part.text : part.text)
      text += part.text
    } else if (part.type === 'tool_call') calls.push(part.call)
    else if (part.type === 'usage') run.addUsage(part.usage)
    else if (part.type === 'finish') markCutOff(part.reason, run)
  }
  return { text, calls }
}

/** The model's own limits, by the names that the responses API has for them. */
function markCutOff(reason: FinishReason, run: Run): void {
  if (reason === 'length') run.markIncomplete('max_output_tokens')
  else if (reason === 'content_filter') run.markIncomplete('content_filter')
}

/** What went wrong is told to the model, which may find another way. Only the end of the run is not its business. */
async function execute(call: ToolCall, { providers }: Tools, run: Run): Promise<Message> {
  const answer = (content: string): Message => ({ role: 'tool', content, toolCallId: call.id })
  const provider = providers.get(call.name)
  if (!provider)
    return answer(`Error: there is no tool '${call.name}'. Tools: ${[...providers.keys()].join(', ') || 'none'}.`)
  try {
    const { text, isError } = await provider.executeTool(call.name, call.arguments, run)
    return answer(isError ? `Error: ${text}` : text)
  } catch (error) {
    run.signal.throwIfAborted()
    return answer(`Error: ${messageOf(error)}`)
  }
}
