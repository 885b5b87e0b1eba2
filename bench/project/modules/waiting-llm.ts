import { setTimeout } from 'node:timers/promises'
import { defineModule, LLM } from 'agent-host'

/** A model that takes 5 ms to answer. */
export default defineModule({
  name: 'WaitingLLM',
  description: 'Takes its time.',
  provides: [LLM],
  create: () => ({
    async *generate() {
      await setTimeout(5)
      yield { type: 'text' as const, text: 'word ' }
      yield { type: 'finish' as const, reason: 'stop' as const }
    },
  }),
})
