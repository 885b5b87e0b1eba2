import { setImmediate } from 'node:timers/promises'
import { defineModule, Embedder, Type } from 'agent-host'
import { hashText } from './lib/hashed-features.ts'

/** After so much work others get their turn: 100 short texts, or a part of a long one. */
const TURN = 10_000

export default defineModule({
  name: 'LocalEmbedder',
  description: 'Vectors from the words and letters of a text, without network, key or model. Knows no synonyms.',
  provides: [Embedder],
  scope: 'agent',
  config: Type.Object({
    dimensions: Type.Integer({ minimum: 16, maximum: 4096, default: 384, description: 'Length of the vectors.' }),
  }),
  create: (_, { dimensions }) => ({
    async embed(texts, run) {
      const vectors: Float32Array[] = []
      let work = 0
      for (const text of texts) {
        run.signal.throwIfAborted()
        const steps = hashText(text, dimensions)
        let step = steps.next()
        for (; !step.done; step = steps.next()) {
          work += step.value
          if (work < TURN) continue
          work = 0
          await setImmediate()
          run.signal.throwIfAborted()
        }
        vectors.push(step.value)
      }
      return vectors
    },
  }),
})
