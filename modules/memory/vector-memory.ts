import { randomUUID } from 'node:crypto'
import {
  Chunker,
  defineModule,
  Embedder,
  Memory,
  type MemoryMatch,
  optional,
  type Run,
  Type,
  VectorIndex,
} from 'agent-host'
import { ENTRY_SCHEMA, EntryTable } from './lib/entry-table.ts'
import { openDatabase, storage } from './lib/open-database.ts'

export default defineModule({
  name: 'VectorMemory',
  description: 'Remembers texts, and finds them again by what they are about; kept in a file.',
  provides: [Memory],
  uses: { embedder: Embedder, index: VectorIndex, chunker: optional(Chunker) },
  scope: 'agent',
  config: Type.Object({
    ...storage,
    per_user: Type.Boolean({
      default: false,
      description:
        'Each user (as the client names it) has memories of their own, and those without a name share theirs.',
    }),
    min_score: Type.Number({
      minimum: -1,
      maximum: 1,
      default: -1,
      description: 'What is less similar than this is not found.',
    }),
  }),
  create: async ({ embedder, index, chunker }, config, context) => {
    const entries = new EntryTable(await openDatabase(config, ENTRY_SCHEMA, context))
    const ownerOf = ({ user }: Run) => (config.per_user && user !== undefined ? `user ${user}` : '')

    /** The vectors come first and the entry last: what has no entry is never found, so an entry is whole or absent. */
    async function addVectors(text: string, run: Run): Promise<string[]> {
      if (text.trim() === '') throw new Error('There is nothing to remember: the text is empty.')
      const pieces = chunker ? await chunker.chunk(text, run) : [text]
      const vectors = await embedder.embed(pieces, run)
      const ids: string[] = []
      try {
        for (const vector of vectors) {
          const id = randomUUID()
          ids.push(id)
          await index.add(id, vector, run)
        }
        return ids
      } catch (error) {
        await removeVectors(ids, run)
        throw error
      }
    }

    /** Nothing leads to them any more: what cannot be removed now only takes up room. */
    async function removeVectors(ids: readonly string[], run: Run): Promise<void> {
      const outcomes = await Promise.allSettled(ids.map((id) => index.remove(id, run)))
      const failed = outcomes.filter(({ status }) => status === 'rejected').length
      if (failed > 0) context.log.warn(`${failed} vectors of forgotten texts are still in the index`)
    }

    function matchesOf(found: readonly { id: string; score: number }[], run: Run): MemoryMatch[] {
      const matches = new Map<string, MemoryMatch>()
      for (const { id, score } of found) {
        const entry = score >= config.min_score ? entries.find(id, ownerOf(run)) : undefined
        // The nearest piece of an entry comes first, and stands for it.
        if (entry && !matches.has(entry.id)) matches.set(entry.id, { ...entry, score })
      }
      return [...matches.values()]
    }

    return {
      async store(text, metadata, run) {
        const entry = { id: randomUUID(), text, metadata }
        entries.insert(entry, ownerOf(run), await addVectors(text, run))
        return entry.id
      },
      get: async (id, run) => entries.get(id, ownerOf(run)),
      async search(query, limit, run) {
        if (!(limit >= 1) || query.trim() === '') return []
        const [vector] = await embedder.embed([query], run)
        if (!vector) throw new Error('The embedder gave no vector for the query.')
        // Several pieces may lead to one entry, and some to what is not this user's.
        for (let count = limit * 2; ; count *= 4) {
          const found = await index.search(vector, count, run)
          const matches = matchesOf(found, run)
          if (matches.length >= limit || found.length < count) return matches.slice(0, limit)
        }
      },
      list: async (run) => entries.list(ownerOf(run)),
      async update(id, text, metadata, run) {
        if (!entries.get(id, ownerOf(run))) return false
        const vectorIds = await addVectors(text, run)
        const old = entries.update({ id, text, metadata }, ownerOf(run), vectorIds)
        await removeVectors(old ?? vectorIds, run)
        return old !== undefined
      },
      async delete(id, run) {
        const old = entries.delete(id, ownerOf(run))
        await removeVectors(old ?? [], run)
        return old !== undefined
      },
      dispose: () => entries.close(),
    }
  },
})
