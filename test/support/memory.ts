import {
  type Chunker,
  type Embedder,
  type Memory,
  memoryStorage,
  type StorageSource,
  type VectorIndex,
} from 'agent-host'
import local from '../../modules/embedder/local.ts'
import exactIndex from '../../modules/memory/exact-index.ts'
import vectorMemory from '../../modules/memory/vector-memory.ts'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import { recordStorage } from '../../src/store/record-storage.ts'
import { makeContext } from './fake-run.ts'

type Disposable<T> = T & { dispose?(): void | Promise<void> }

export const makeEmbedder = async (): Promise<Embedder> => local.create({}, { dimensions: 384 }, makeContext())

/** @param projectDir without one it is kept nowhere */
export async function openIndex(projectDir?: string): Promise<Disposable<VectorIndex>> {
  const context = makeContext({ moduleId: 'index', projectDir })
  const storage = memoryStorage().storageOf(context)
  return exactIndex.create({ storage }, { persist: projectDir !== undefined }, context)
}

/** The index as a server has it that shares the store behind this source. */
export async function openSharedIndex(source: StorageSource): Promise<Disposable<VectorIndex>> {
  const context = makeContext({ moduleId: 'index', hasSharedStore: true })
  return exactIndex.create({ storage: source.storageOf(context) }, { persist: true }, context)
}

/** The memory as a server has it that shares the store behind this source. */
export async function openSharedMemory(source: StorageSource): Promise<Disposable<Memory>> {
  return openMemory(undefined, { source, index: await openSharedIndex(source) })
}

/** The store of a project, as a server opens it. */
export function openProjectStore(dir: string): { readonly source: StorageSource; close(): Promise<void> } {
  const store = new LazyStore(() => openStore({ store: 'sqlite', dir, projectDir: dir }))
  return {
    source: recordStorage(
      () => store.open(),
      false,
      () => {},
    ),
    close: () => store.close(),
  }
}

interface Facts {
  readonly config?: object
  readonly chunker?: Chunker
  readonly embedder?: Embedder
  readonly index?: VectorIndex
  readonly source?: StorageSource
}

/** A memory over the local embedder and the exact index. */
export async function openMemory(projectDir?: string, facts: Facts = {}): Promise<Disposable<Memory>> {
  const { config = {}, chunker, embedder = await makeEmbedder(), index = await openIndex(projectDir) } = facts
  const { source = memoryStorage() } = facts
  const settings = { persist: true, per_user: false, min_score: -1, ...config }
  const context = makeContext({ moduleId: 'memory', projectDir })
  return vectorMemory.create({ embedder, index, chunker, storage: source.storageOf(context) }, settings, context)
}
