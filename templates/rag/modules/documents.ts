import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { defineModule, Memory, type Run, ToolProvider, Type } from 'agent-host'

const Arguments = Type.Object({ query: Type.String({ description: 'What the documents should say something about.' }) })

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
    const indexed = new Map<string, { modified: number; ids: readonly string[] }>()
    let indexing: Promise<void> = Promise.resolve()

    /** Brings the index in line with the folder: files that are new or changed, and those that are gone. */
    async function update(run: Run): Promise<void> {
      const names = (await readdir(join(projectDir, folder))).filter((name) => /\.(md|txt)$/.test(name)).sort()
      for (const name of indexed.keys()) if (!names.includes(name)) await forget(name, run)
      for (const name of names) {
        const path = join(projectDir, folder, name)
        const modified = (await stat(path)).mtimeMs
        if (indexed.get(name)?.modified === modified) continue
        await forget(name, run)
        const passages = (await readFile(path, 'utf8')).split(/\n(?=#)/).filter((text) => text.trim() !== '')
        const ids: string[] = []
        for (const text of passages) ids.push(await memory.store(text.trim(), { file: `${folder}/${name}` }, run))
        indexed.set(name, { modified, ids })
      }
    }

    async function forget(name: string, run: Run): Promise<void> {
      for (const id of indexed.get(name)?.ids ?? []) await memory.delete(id, run)
      indexed.delete(name)
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
        indexing = indexing.catch(() => {}).then(() => update(run))
        await indexing
        const found = await memory.search(String(query), limit, run)
        if (found.length === 0) return { text: 'No document says anything about that.' }
        const passages = found.map(({ text, metadata }) => `${metadata.file}\n${text}`)
        return { text: passages.join('\n\n') }
      },
    }
  },
})
