import { setImmediate } from 'node:timers/promises'
import { defineModule, Embedder, Type } from 'agent-host'
import { hashText } from './lib/hashed-features.ts'

/** After so many texts others get their turn. */
const BATCH = 100

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
      for (const text of texts) {
        if (vectors.length % BATCH === BATCH - 1) await setImmediate()
        run.signal.throwIfAborted()
        vectors.push(hashText(text, dimensions))
      }
      return vectors
    },
  }),
})
