import { join } from 'node:path'
import { ConversationHistory, defineModule, type Message, Response, type Run, Type } from 'agent-host'
import { TurnFile } from './lib/turn-file.ts'

export default defineModule({
  name: 'Persistent',
  description: 'Saves a conversation in a file, by its id or its user, so that later requests continue it.',
  provides: [ConversationHistory, Response],
  uses: { history: ConversationHistory, response: Response },
  config: Type.Object({
    metadata_key: Type.String({
      minLength: 1,
      default: 'conversation_id',
      description: 'Metadata field of a request that identifies its conversation.',
    }),
    by_user: Type.Boolean({
      default: true,
      description:
        'Without that field, a request belongs to the one conversation of its user, if the client names one.',
    }),
    max_messages: Type.Integer({
      minimum: 1,
      default: 200,
      description: 'Number of saved messages that a request starts with, the latest.',
    }),
    dir: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Folder of the files, relative to the project. Default: conversations/<agent id>/<module id>',
      }),
    ),
  }),
  create: ({ history, response }, config, { agentId, moduleId, projectDir, log }) => {
    const { dir = join('conversations', agentId, moduleId), max_messages } = config
    let file: TurnFile | undefined
    let kept: Message[] | undefined
    let isAsked = false
    const added: Message[] = []
    let question: Message | undefined
    let answer = ''
    /** Text of the turn that the last stored one holds: the run before said it, and then waited. */
    let storedPart = ''

    /** The run tells whose conversation it is: once in a run, because it is the same for all of it. */
    function open(run: Run | undefined): TurnFile | undefined {
      if (isAsked || !run) return file
      isAsked = true
      const key = keyOf(run, config.metadata_key, config.by_user)
      file = key === undefined ? undefined : new TurnFile(join(projectDir, dir), key)
      return file
    }

    return {
      async getHistory(run) {
        const messages = await history.getHistory(run)
        question ??= messages.findLast(({ role }) => role === 'user')
        // A client that brings the conversation along does not need it twice. Calls and results of this turn are none.
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        const isNew = messages.findIndex(({ role }) => role === 'user' || role === 'assistant') === asked
        if (!kept) {
          const turns = isNew ? ((await open(run)?.read()) ?? []) : []
          const said = textOf(messages.slice(asked + 1))
          const [first, last] = turns.at(-1) ?? []
          if (said !== '' && first?.content === question?.content && last?.content === said) {
            storedPart = said
            turns.pop()
          }
          kept = latest(turns.flat(), max_messages)
        }
        open(run)
        const first = messages.findIndex(({ role }) => role !== 'system')
        return first === -1 ? [...messages, ...kept] : messages.toSpliced(first, 0, ...kept)
      },
      async addMessage(message, run) {
        added.push(message)
        await history.addMessage(message, run)
      },
      async clearHistory(run) {
        kept = []
        await open(run)?.remove()
        await history.clearHistory(run)
      },

      respondText(text) {
        const sent = response.respondText(text)
        answer += text
        return sent
      },
      respondReasoning: (text) => response.respondReasoning(text),
      respondImage: (image) => response.respondImage(image),
      respondAudio: (audio) => response.respondAudio(audio),
      respondFile: (file) => response.respondFile(file),
      getResponse: () => response.getResponse(),

      /** At the end of the run, in one piece: the question, and what the user has read of the answer. */
      async [Symbol.asyncDispose]() {
        if (!isAsked && answer !== '') {
          log.warn('the turn is not kept: no module has called getHistory(run), so it is not known whose it is')
        }
        if (!file || answer === '') return
        const asked = question ? [question] : []
        const content = storedPart + answer
        await file.append([...asked, ...added, { role: 'assistant', content }], storedPart !== '')
      },
    }
  },
})

/** Text that an agent said before it waited for the results in between. */
function textOf(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => (role === 'assistant' ? content : '')).join('')
}

/** Of the user too: who guesses the id of another's conversation does not get it. */
function keyOf({ user, metadata }: Run, metadataKey: string, byUser: boolean): string | undefined {
  const id = metadata[metadataKey]
  if (typeof id === 'string' && id !== '') return JSON.stringify([user ?? null, id])
  return byUser && user !== undefined ? JSON.stringify([user]) : undefined
}

/** From a question on: an answer without it means little. */
function latest(messages: readonly Message[], count: number): Message[] {
  const shown = messages.slice(-count)
  const first = shown.findIndex(({ role }) => role === 'user')
  return first === -1 ? [] : shown.slice(first)
}
