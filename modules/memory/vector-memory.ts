import { setImmediate } from 'node:timers/promises'
import {
  Chunker,
  defineModule,
  Embedder,
  Memory,
  type MemoryMatch,
  memoryStorage,
  optional,
  type Run,
  Storage,
  Type,
  VectorIndex,
} from 'agent-host'
import { Entries } from './lib/entries.ts'
import { makeIds, ownedBy, USER, vectorIdFor } from './lib/ids.ts'

export default defineModule({
  name: 'VectorMemory',
  description: 'Stores texts, and finds them by meaning.',
  provides: [Memory],
  uses: { embedder: Embedder, index: VectorIndex, chunker: optional(Chunker), storage: Storage },
  scope: 'agent',
  config: Type.Object({
    persist: Type.Boolean({
      default: true,
      description: 'Save the texts. Otherwise they are lost when the agent closes.',
    }),
    per_user: Type.Boolean({
      default: false,
      description: 'Give each user (as set by the client) separate memories; requests without a user share one.',
    }),
    min_score: Type.Number({
      minimum: -1,
      maximum: 1,
      default: -1,
      variant: true,
      description: 'Minimum similarity of a hit.',
    }),
  }),
  create: ({ embedder, index, chunker, storage }, config, context) => {
    const entries = new Entries(config.persist ? storage : memoryStorage().storageOf(context))
    const nextId = makeIds()
    const ownerOf = ({ user }: Run) => (config.per_user && user !== undefined ? USER + user : '')
    const vectors = new EntryVectors(embedder, index, chunker, (message) => context.log.warn(message))
    const isNear = ({ score }: { readonly score: number }) => score >= config.min_score
    return {
      async store(text, metadata, run) {
        const entry = { id: nextId(), text, metadata }
        const owner = ownerOf(run)
        const vectorIds = await vectors.add(entry.id, text, owner, run)
        await vectors.keptWith(vectorIds, run, () => entries.insert(entry, owner, vectorIds, run))
        return entry.id
      },
      get: async (id, run) => entries.get(id, ownerOf(run), run),
      async search(query, limit, run) {
        if (!(limit >= 1) || query.trim() === '') return []
        const [vector] = await embedder.embed([query], run)
        if (!vector) throw new Error('The embedder gave no vector for the query.')
        // Several pieces may belong to one entry, and some to other users.
        for (let count = limit * 2; ; count *= 4) {
          const found = await index.search(vector, count, run)
          const matches = await matchesOf(found.filter(isNear), entries, ownerOf(run), run)
          // Nothing that follows is nearer.
          const isAll = found.length < count || !found.every(isNear)
          if (matches.length >= limit || isAll) return matches.slice(0, limit)
          // Each search of a large index takes long.
          await setImmediate()
        }
      },
      list: async (run) => entries.list(ownerOf(run), run),
      async update(id, text, metadata, run) {
        const owner = ownerOf(run)
        if (!(await entries.get(id, owner, run))) return false
        const vectorIds = await vectors.add(id, text, owner, run)
        const old = await vectors.keptWith(vectorIds, run, () =>
          entries.update({ id, text, metadata }, owner, vectorIds, run),
        )
        await vectors.remove(old ?? vectorIds, run)
        return old !== undefined
      },
      async delete(id, run) {
        const old = await entries.delete(id, ownerOf(run), run)
        await vectors.remove(old ?? [], run)
        return old !== undefined
      },
      ...(config.per_user
        ? {
            async owners(run: Run) {
              return Array.from(await entries.owners(run), ([owner, count]) => ({
                user: owner.slice(USER.length),
                count,
              })).sort((one, other) => one.user.localeCompare(other.user))
            },
          }
        : {}),
    }
  },
})

/** The vectors of entries in the index. */
class EntryVectors {
  readonly #embedder: Embedder
  readonly #index: VectorIndex
  readonly #chunker: Chunker | undefined
  readonly #warn: (message: string) => void

  constructor(embedder: Embedder, index: VectorIndex, chunker: Chunker | undefined, warn: (message: string) => void) {
    this.#embedder = embedder
    this.#index = index
    this.#chunker = chunker
    this.#warn = warn
  }

  /** The vectors come first and the entry last: vectors without an entry are never found, so an entry is whole or absent. */
  async add(entryId: string, text: string, owner: string, run: Run): Promise<string[]> {
    if (text.trim() === '') throw new Error('There is nothing to remember: the text is empty.')
    const pieces = this.#chunker ? await this.#chunker.chunk(text, run) : [text]
    const vectors = await this.#embedder.embed(pieces, run)
    // Otherwise a part of the text would never be found.
    if (pieces.length === 0) throw new Error('The chunker gave no piece of the text.')
    if (vectors.length !== pieces.length) {
      throw new Error(`The embedder gave ${vectors.length} vectors for ${pieces.length} texts.`)
    }
    const ids: string[] = []
    try {
      for (const vector of vectors) {
        const id = vectorIdFor(entryId, owner)
        ids.push(id)
        await this.#index.add(id, vector, run)
      }
      return ids
    } catch (error) {
      await this.remove(ids, run)
      throw error
    }
  }

  /** Stores the entry of vectors: where that fails, they are removed. */
  async keptWith<T>(ids: readonly string[], run: Run, store: () => Promise<T>): Promise<T> {
    try {
      return await store()
    } catch (error) {
      await this.remove(ids, run)
      throw error
    }
  }

  /** No entry refers to them any more: vectors that cannot be removed now only take up space. */
  async remove(ids: readonly string[], run: Run): Promise<void> {
    const outcomes = await Promise.allSettled(ids.map((id) => this.#index.remove(id, run)))
    const failed = outcomes.filter(({ status }) => status === 'rejected').length
    if (failed > 0) this.#warn(`${failed} vectors of forgotten texts are still in the index`)
  }
}

/** @param found hits, the nearest first */
async function matchesOf(
  found: readonly { readonly id: string; readonly score: number }[],
  entries: Entries,
  owner: string,
  run: Run,
): Promise<MemoryMatch[]> {
  const matches = new Map<string, MemoryMatch>()
  const isOwn = ownedBy(owner)
  const own = found.filter(({ id }) => isOwn(id))
  const led = await Promise.all(own.map(({ id }) => entries.find(id, owner, run)))
  for (const [place, { score }] of own.entries()) {
    const entry = led[place]
    // The nearest piece of an entry comes first, and stands for it.
    if (entry && !matches.has(entry.id)) matches.set(entry.id, { ...entry, score })
  }
  return [...matches.values()]
}
