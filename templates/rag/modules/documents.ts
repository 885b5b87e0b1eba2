import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { defineModule, Memory, type Run, ToolProvider, Type } from 'agent-host'

const Arguments = Type.Object({ query: Type.String({ description: 'What the documents should say something about.' }) })

interface Index {
  /** Files in it, by name: when each was changed last, and the ids of its passages. */
  readonly files: Map<string, { modified: number; ids: readonly string[] }>
  updating: Promise<void>
}

/** A tool that searches the text files of a folder, indexed in the memory of the agent. */
export default defineModule({
  name: 'Documents',
  description: 'Searches the files of a folder.',
  provides: [ToolProvider],
  uses: { memory: Memory },
  scope: 'agent',
  config: Type.Object({
    folder: Type.String({ default: 'documents', description: 'Folder of Markdown and text files.' }),
    limit: Type.Integer({ default: 3, minimum: 1, description: 'Passages that a search gives at most.' }),
  }),
  create: ({ memory }, { folder, limit }, { projectDir }) => {
    const indexes = new Map<string, Index>()

    /** The index of the tenant of a run: each tenant has a memory of its own. */
    function indexOf({ tenant }: Run): Index {
      const index = indexes.get(tenant) ?? { files: new Map(), updating: Promise.resolve() }
      indexes.set(tenant, index)
      return index
    }

    /** Brings an index in line with the folder: files that are new or changed, and those that are gone. */
    async function update({ files }: Index, run: Run): Promise<void> {
      const names = (await readdir(join(projectDir, folder))).filter((name) => /\.(md|txt)$/.test(name)).sort()
      const forget = async (name: string) => {
        for (const id of files.get(name)?.ids ?? []) await memory.delete(id, run)
        files.delete(name)
      }
      for (const name of files.keys()) if (!names.includes(name)) await forget(name)
      for (const name of names) {
        const path = join(projectDir, folder, name)
        const modified = (await stat(path)).mtimeMs
        if (files.get(name)?.modified === modified) continue
        await forget(name)
        const passages = (await readFile(path, 'utf8')).split(/\n(?=#)/).filter((text) => text.trim() !== '')
        const ids: string[] = []
        for (const text of passages) ids.push(await memory.store(text.trim(), { file: `${folder}/${name}` }, run))
        files.set(name, { modified, ids })
      }
    }

    return {
      listTools: () => [
        {
          name: 'search_documents',
          description: 'Searches the documents of the shop: delivery, returns, opening hours and all other questions.',
          parameters: Arguments,
        },
      ],
      async executeTool(_name, { query }, run) {
        // One after the other: two first questions at once would index everything twice.
        const index = indexOf(run)
        index.updating = index.updating.catch(() => {}).then(() => update(index, run))
        await index.updating
        const found = await memory.search(String(query), limit, run)
        if (found.length === 0) return { text: 'No document says anything about that.' }
        const passages = found.map(({ text, metadata }) => `${metadata.file}\n${text}`)
        return { text: passages.join('\n\n') }
      },
    }
  },
})
