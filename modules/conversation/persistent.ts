import { ConversationHistory, defineModule, type Message, Response, type Run, Storage, Type } from 'agent-host'
import { SavedConversation } from './lib/saved-conversation.ts'
import { TurnLog } from './lib/turn-log.ts'

export default defineModule({
  name: 'Persistent',
  description: 'Saves conversations by id or user, so that later requests continue them.',
  provides: [ConversationHistory, Response],
  uses: { history: ConversationHistory, response: Response, storage: Storage },
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
      description: 'Number of the latest saved messages that a conversation continues with.',
    }),
  }),
  create: ({ history, response, storage }, config, { log }) => {
    const { max_messages: maxMessages } = config
    const saved = new SavedConversation({
      keyOf: (run) => keyOf(run, config.metadata_key, config.by_user),
      // One more than is shown: the last may be a part that this run takes the place of.
      openTurns: (key) => new TurnLog(storage, key, maxMessages + 1, (message) => log.warn(message)),
      maxMessages,
    })
    const added: Message[] = []
    let answer = ''
    return {
      async getHistory(run) {
        const messages = await history.getHistory(run)
        const earlier = await saved.read(messages, run)
        const first = messages.findIndex(({ role }) => role !== 'system')
        return first === -1 ? [...messages, ...earlier] : messages.toSpliced(first, 0, ...earlier)
      },
      async addMessage(message, run) {
        added.push(message)
        await history.addMessage(message, run)
      },
      async clearHistory(run) {
        await saved.remove(run)
        await history.clearHistory(run)
      },

      respondText(text) {
        const sent = response.respondText(text)
        answer += text
        return sent
      },
      respondReasoning: (...piece) => response.respondReasoning(...piece),
      respondImage: (image) => response.respondImage(image),
      respondAudio: (audio) => response.respondAudio(audio),
      respondFile: (file) => response.respondFile(file),
      respondEvent: (...event) => response.respondEvent?.(...event),
      getResponse: () => response.getResponse(),

      async [Symbol.asyncDispose]() {
        if (answer === '') return
        if (!saved.isIdentified) {
          log.warn('the turn is not kept: no module has called getHistory(run), so it is not known whose it is')
        }
        await saved.append(added, answer)
      },
    }
  },
})

/** Of the user too: who guesses the id of another's conversation does not get it. */
function keyOf({ user, metadata }: Run, metadataKey: string, byUser: boolean): string | undefined {
  const id = metadata[metadataKey]
  if (typeof id === 'string' && id !== '') return JSON.stringify([user ?? null, id])
  return byUser && user !== undefined ? JSON.stringify([user]) : undefined
}
