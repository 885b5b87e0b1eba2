import { ConversationHistory, defineModule, type Message, Response } from 'agent-host'
import { OutputCapture } from './lib/output-capture.ts'

interface Frame {
  readonly question: string
  readonly isCaptured: boolean
  said: string
}

export default defineModule({
  name: 'Stage',
  description: 'Captures the answer of each handler of a pipeline and passes it to the next.',
  provides: [OutputCapture, Response, ConversationHistory],
  uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => {
    // A stack: a pipeline may be a stage of another.
    const frames: Frame[] = []
    const holder = () => frames.findLast(({ isCaptured }) => isCaptured)
    return {
      begin(question, isCaptured) {
        frames.push({ question, isCaptured, said: '' })
      },
      end: () => frames.pop()?.said ?? '',

      respondText(text) {
        const frame = holder()
        if (!frame) return response.respondText(text)
        frame.said += text
      },
      // The next stage could do nothing with them.
      respondReasoning: (...piece) => response.respondReasoning(...piece),
      respondImage: (image) => response.respondImage(image),
      respondAudio: (audio) => response.respondAudio(audio),
      respondFile: (file) => response.respondFile(file),
      respondEvent: (...event) => response.respondEvent?.(...event),
      async getResponse() {
        const answered = await response.getResponse()
        const frame = holder()
        return frame ? { ...answered, text: frame.said } : answered
      },

      async getHistory(run) {
        const messages = await history.getHistory(run)
        const frame = frames.at(-1)
        return frame ? askedLast(messages, frame.question) : messages
      },
      addMessage: (message, run) => history.addMessage(message, run),
      clearHistory: (run) => history.clearHistory(run),
    }
  },
})

/** The conversation with another question in place of the last one. Calls and results after it stay: the run continues from them. */
function askedLast(messages: readonly Message[], question: string): Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages[last]
  if (asked?.role !== 'user') return [...messages, { role: 'user', content: question }]
  return messages.with(last, { ...asked, content: question })
}
