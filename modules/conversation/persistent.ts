import { join } from 'node:path'
import {
  ConversationHistory,
  defineModule,
  type Message,
  optional,
  Response,
  type Run,
  Storage,
  Type,
} from 'agent-host'
import type { Turns } from './lib/turn.ts'
import { TurnFile } from './lib/turn-file.ts'
import { TurnLog } from './lib/turn-log.ts'

export default defineModule({
  name: 'Persistent',
  description:
    'Saves conversations by id or user, so that later requests continue them: in files, or in a store that servers share.',
  provides: [ConversationHistory, Response],
  uses: { history: ConversationHistory, response: Response, storage: optional(Storage) },
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
      description: 'Maximum number of saved messages to start with, the latest.',
    }),
    dir: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Folder of the files, relative to the project. Default: conversations/<agent id>/<module id>, or the store where servers share it.',
      }),
    ),
  }),
  create: ({ history, response, storage }, config, { agentId, moduleId, projectDir, hasSharedStore, log }) => {
    const { dir = join('conversations', agentId, moduleId), max_messages } = config
    let saved: { readonly turns: Turns; readonly run: Run } | undefined
    let kept: Message[] | undefined
    let isAsked = false
    const added: Message[] = []
    let question: Message | undefined
    let answer = ''
    /** Text of the turn that the last stored one holds: the run before said it, and then waited. */
    let storedPart = ''

    /** Identifies the conversation by the run, once, since it is the same throughout. */
    function open(run: Run | undefined): typeof saved {
      if (isAsked || !run) return saved
      isAsked = true
      const key = keyOf(run, config.metadata_key, config.by_user)
      saved = key === undefined ? undefined : { turns: openTurns(key), run }
      return saved
    }

    function openTurns(key: string): Turns {
      // One more than is shown: the last may be a part that this run takes the place of.
      if (storage && hasSharedStore && config.dir === undefined) return new TurnLog(storage, key, max_messages + 1)
      return new TurnFile(join(projectDir, dir), key)
    }

    async function readTurns(run: Run | undefined): Promise<Message[][]> {
      const opened = open(run)
      return opened ? opened.turns.read(opened.run) : []
    }

    return {
      async getHistory(run) {
        const messages = await history.getHistory(run)
        question ??= messages.findLast(({ role }) => role === 'user')
        // A client that sends the conversation does not need the saved one. Calls and results of this turn do not count.
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        const isNew = messages.findIndex(({ role }) => role === 'user' || role === 'assistant') === asked
        if (!kept) {
          const turns = isNew ? await readTurns(run) : []
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
        const opened = open(run)
        await opened?.turns.remove(opened.run)
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

      /** Saves the question and the text that the user has read, in one write at the end of the run. */
      async [Symbol.asyncDispose]() {
        if (!isAsked && answer !== '') {
          log.warn('the turn is not kept: no module has called getHistory(run), so it is not known whose it is')
        }
        if (!saved || answer === '') return
        const asked = question ? [question] : []
        const content = storedPart + answer
        const turn: Message[] = [...asked, ...added, { role: 'assistant', content }]
        await saved.turns.append(turn, storedPart !== '', saved.run)
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
