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
import { makeIds, ownedBy, vectorIdFor } from './lib/ids.ts'

/** Before the name of an owner, unless it is the one of requests without a user. */
const USER = 'user '

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

    /** The vectors come first and the entry last: vectors without an entry are never found, so an entry is whole or absent. */
    async function addVectors(entryId: string, text: string, run: Run): Promise<string[]> {
      if (text.trim() === '') throw new Error('There is nothing to remember: the text is empty.')
      const pieces = chunker ? await chunker.chunk(text, run) : [text]
      const vectors = await embedder.embed(pieces, run)
      const ids: string[] = []
      try {
        for (const vector of vectors) {
          const id = vectorIdFor(entryId, ownerOf(run))
          ids.push(id)
          await index.add(id, vector, run)
        }
        return ids
      } catch (error) {
        await removeVectors(ids, run)
        throw error
      }
    }

    /** No entry refers to them any more: vectors that cannot be removed now only take up space. */
    async function removeVectors(ids: readonly string[], run: Run): Promise<void> {
      const outcomes = await Promise.allSettled(ids.map((id) => index.remove(id, run)))
      const failed = outcomes.filter(({ status }) => status === 'rejected').length
      if (failed > 0) context.log.warn(`${failed} vectors of forgotten texts are still in the index`)
    }

    async function matchesOf(found: readonly { id: string; score: number }[], run: Run): Promise<MemoryMatch[]> {
      const matches = new Map<string, MemoryMatch>()
      const owner = ownerOf(run)
      const isOwn = ownedBy(owner)
      const near = found.filter(({ id, score }) => score >= config.min_score && isOwn(id))
      const led = await Promise.all(near.map(({ id }) => entries.find(id, owner, run)))
      for (const [place, { score }] of near.entries()) {
        const entry = led[place]
        // The nearest piece of an entry comes first, and stands for it.
        if (entry && !matches.has(entry.id)) matches.set(entry.id, { ...entry, score })
      }
      return [...matches.values()]
    }

    return {
      async store(text, metadata, run) {
        const entry = { id: nextId(), text, metadata }
        await entries.insert(entry, ownerOf(run), await addVectors(entry.id, text, run), run)
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
          const matches = await matchesOf(found, run)
          if (matches.length >= limit || found.length < count) return matches.slice(0, limit)
        }
      },
      list: async (run) => entries.list(ownerOf(run), run),
      async update(id, text, metadata, run) {
        if (!(await entries.get(id, ownerOf(run), run))) return false
        const vectorIds = await addVectors(id, text, run)
        const old = await entries.update({ id, text, metadata }, ownerOf(run), vectorIds, run)
        await removeVectors(old ?? vectorIds, run)
        return old !== undefined
      },
      async delete(id, run) {
        const old = await entries.delete(id, ownerOf(run), run)
        await removeVectors(old ?? [], run)
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
