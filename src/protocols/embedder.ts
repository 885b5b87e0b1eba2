import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Turns texts into vectors. */
export interface Embedder {
  /** One vector a text, in their order, all of one length. */
  embed(texts: readonly string[], run: Run): Promise<Float32Array[]>
}
export const Embedder = defineProtocol<Embedder>('Embedder', ['embed'])
