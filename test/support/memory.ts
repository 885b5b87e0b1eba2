import type { Chunker, Embedder, Memory, StorageSource, VectorIndex } from 'agent-host'
import local from '../../modules/embedder/local.ts'
import exactIndex from '../../modules/memory/exact-index.ts'
import vectorMemory from '../../modules/memory/vector-memory.ts'
import { makeContext } from './fake-run.ts'

type Disposable<T> = T & { dispose?(): void | Promise<void> }

export const makeEmbedder = async (): Promise<Embedder> => local.create({}, { dimensions: 384 }, makeContext())

/** @param projectDir without one it is kept nowhere */
export async function openIndex(projectDir?: string): Promise<Disposable<VectorIndex>> {
  const context = makeContext({ moduleId: 'index', projectDir })
  return exactIndex.create({ storage: undefined }, { persist: projectDir !== undefined }, context)
}

/** The index as a server has it that shares the store behind this source. */
export async function openSharedIndex(source: StorageSource): Promise<Disposable<VectorIndex>> {
  const context = makeContext({ moduleId: 'index', hasSharedStore: true })
  return exactIndex.create({ storage: source.storageOf(context) }, { persist: true }, context)
}

/** The memory as a server has it that shares the store behind this source. */
export async function openSharedMemory(source: StorageSource): Promise<Disposable<Memory>> {
  const context = makeContext({ moduleId: 'memory', hasSharedStore: true })
  const parts = { embedder: await makeEmbedder(), index: await openSharedIndex(source), chunker: undefined }
  const config = { persist: true, per_user: false, min_score: -1 }
  return vectorMemory.create({ ...parts, storage: source.storageOf(context) }, config, context)
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
  const context = makeContext({ moduleId: 'memory', projectDir })
  return vectorMemory.create({ embedder, index, chunker, storage: undefined }, settings, context)
}
