import type { Chunker, Embedder, Memory, VectorIndex } from 'agent-host'
import local from '../../modules/embedder/local.ts'
import exactIndex from '../../modules/memory/exact-index.ts'
import vectorMemory from '../../modules/memory/vector-memory.ts'
import { makeContext } from './fake-run.ts'

type Disposable<T> = T & { dispose?(): void | Promise<void> }

export const makeEmbedder = async (): Promise<Embedder> => local.create({}, { dimensions: 384 }, makeContext())

/** @param projectDir without one it is kept nowhere */
export async function openIndex(projectDir?: string): Promise<Disposable<VectorIndex>> {
  return exactIndex.create({}, { persist: projectDir !== undefined }, makeContext({ moduleId: 'index', projectDir }))
}

interface Facts {
  readonly config?: object
  readonly chunker?: Chunker
  readonly embedder?: Embedder
  readonly index?: VectorIndex
}

/** A memory over the local embedder and the exact index. */
export async function openMemory(projectDir?: string, facts: Facts = {}): Promise<Disposable<Memory>> {
  const { config = {}, chunker, embedder = await makeEmbedder(), index = await openIndex(projectDir) } = facts
  const settings = { persist: projectDir !== undefined, per_user: false, min_score: -1, ...config }
  return vectorMemory.create({ embedder, index, chunker }, settings, makeContext({ moduleId: 'memory', projectDir }))
}
