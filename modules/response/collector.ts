import { defineModule, Response } from 'agent-host'

export default defineModule({
  name: 'Collector',
  description: "Collects an agent's text and sends it in one piece when the run ends.",
  provides: [Response],
  uses: { response: Response },
  create: ({ response }) => {
    let held = ''
    return {
      respondText(text) {
        held += text
      },
      respondReasoning: (...piece) => response.respondReasoning(...piece),
      respondImage: (image) => response.respondImage(image),
      respondAudio: (audio) => response.respondAudio(audio),
      respondFile: (file) => response.respondFile(file),
      respondEvent: (...event) => response.respondEvent?.(...event),
      async getResponse() {
        const { text, attachments } = await response.getResponse()
        return { text: text + held, attachments }
      },
      async [Symbol.asyncDispose]() {
        const text = held
        held = ''
        if (text !== '') await response.respondText(text)
      },
    }
  },
})
