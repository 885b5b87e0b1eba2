import {
  ConversationHistory,
  defineModule,
  LLM,
  type Message,
  many,
  optional,
  Response,
  type Static,
  TextMessageHandler,
  Type,
} from 'agent-host'
import { type Budget, costLimits, sayAfter, withinBudget } from './lib/budget.ts'
import { callModel } from './lib/call-model.ts'

const PROMPT = `Decide who answers the user's last message. These can:

{handlers}

Reply with one name of the list and nothing else. Reply "none" if none of them can answer.`

const Route = Type.Object({
  name: Type.String({ minLength: 1, description: 'Name of the handler for the model.' }),
  description: Type.String({
    default: '',
    variant: true,
    description: 'Purpose of the handler, for the model and the user.',
  }),
  keywords: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'Words and phrases; a message with one of them goes to this handler without a model call.',
  }),
})
type Route = Static<typeof Route>

export default defineModule({
  name: 'Router',
  description: 'Picks one of several handlers: by keywords, otherwise by asking a model.',
  provides: [TextMessageHandler],
  uses: {
    handlers: many(TextMessageHandler),
    llm: optional(LLM),
    history: ConversationHistory,
    response: Response,
  },
  attachments: 'model',
  config: Type.Object({
    handlers: Type.Array(Route, {
      minItems: 1,
      description: 'One for each handler, in the order of `exchange` (otherwise of `modules`).',
    }),
    fallback: Type.Optional(Type.String({ description: 'Name of the handler for everything else.' })),
    prompt: Type.String({
      default: PROMPT,
      variant: true,
      description: 'Asks the model for a name. {handlers} is filled in.',
    }),
    no_match: Type.String({
      variant: true,
      default: 'I do not know who could answer that. I can help with:\n{handlers}',
      description: 'Text for the user when no handler matches and there is no fallback. {handlers} is filled in.',
    }),
    ...costLimits,
  }),
  create: ({ handlers, llm, history, response }, config, { providersFor }) => {
    const { handlers: routes, fallback, prompt, no_match } = config
    const described = routes.map(({ name, description }) => `- ${name}${description && `: ${description}`}`).join('\n')
    checkRoutes(routes, providersFor('handlers'), fallback)
    return {
      handleText: (text, run) =>
        withinBudget(config, run, response, async (budget) => {
          const name =
            byKeyword(text, routes) ??
            (llm &&
              (await byModel(llm, fillIn(prompt, described), await history.getHistory(budget.run), routes, budget))) ??
            fallback
          const handler = handlers[routes.findIndex((route) => route.name === name)]
          if (!handler) {
            run.markIncomplete('no_handler')
            return sayAfter(response, fillIn(no_match, described))
          }
          run.reportProgress(`${name} answers`)
          budget.check()
          await handler.handleText(text, budget.run)
        }),
    }
  },
})

/** @param ids of the modules that handle messages, in the order of `exchange` */
function checkRoutes(routes: readonly Route[], ids: readonly string[], fallback: string | undefined): void {
  const names = routes.map(({ name }) => name)
  if (routes.length !== ids.length) {
    throw new Error(
      `The router has ${ids.length} handlers, and its config describes ${routes.length} (${names.join(', ')}). List the handlers under exchange in the order of the config.`,
    )
  }
  const swapped = routes.findIndex(({ name }, index) => name !== ids[index] && ids.includes(name))
  if (swapped !== -1) {
    throw new Error(
      `The config of the router calls the handler '${ids[swapped]}' '${names[swapped]}', the id of another one. Describe the handlers in their order: ${ids.join(', ')}.`,
    )
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`Two handlers of the router are called '${twice}'.`)
  if (fallback !== undefined && !names.includes(fallback)) {
    throw new Error(`The router's fallback '${fallback}' is not one of its handlers: ${names.join(', ')}.`)
  }
}

/** The handler with a keyword in the text, as whole words; the earliest in the list where several have one. */
function byKeyword(text: string, routes: readonly Route[]): string | undefined {
  return routes.find(({ keywords }) => keywords.some((keyword) => holdsWord(text, keyword)))?.name
}

async function byModel(
  llm: LLM,
  system: string,
  conversation: readonly Message[],
  routes: readonly Route[],
  budget: Budget,
): Promise<string | undefined> {
  const messages: Message[] = [
    { role: 'system', content: system },
    { role: 'user', content: transcribe(conversation) },
  ]
  // The options of the client are for the answer, not for the choice of who gives it.
  const { text } = await callModel(llm, { messages }, budget, { run: budget.run.with({ requestOptions: {} }) })
  const exact = routes.find(({ name }) => name.toLowerCase() === text.trim().toLowerCase())
  if (exact) return exact.name
  // A model that says more than the name; with two of them in it the choice is open.
  const named = routes.filter(({ name }) => holdsWord(text, name))
  return named.length === 1 ? named[0]?.name : undefined
}

/** Up to the question, as one message: a model would continue a conversation. */
function transcribe(conversation: readonly Message[]): string {
  const asked = conversation.slice(0, conversation.findLastIndex(({ role }) => role === 'user') + 1)
  const spoken = asked.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content !== '')
  return spoken
    .slice(-6)
    .map(({ role, content }) => `${role}: ${content}`)
    .join('\n\n')
}

function holdsWord(text: string, word: string): boolean {
  const pattern = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+')
  return new RegExp(`(?<![\\p{L}\\p{N}_])${pattern}(?![\\p{L}\\p{N}_])`, 'iu').test(text)
}

function fillIn(template: string, handlers: string): string {
  return template.replaceAll('{handlers}', () => handlers)
}
