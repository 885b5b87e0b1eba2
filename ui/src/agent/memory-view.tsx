import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { type MemoryItem, MemoryList } from '../components/memory-list.tsx'
import { Notice } from '../components/notice.tsx'

const READ = `mutation($agent: String!, $module: String!, $search: String) {
  read_memory(agent_id: $agent, module_id: $module, search: $search)
}`

interface MemoryViewProps {
  readonly agentId: string
  readonly moduleId: string
}

/** Contents of a memory: the latest entries, or those nearest to a question. */
export function MemoryView({ agentId, moduleId }: MemoryViewProps) {
  const [search, setSearch] = useState('')
  const [items, setItems] = useState<readonly MemoryItem[]>()
  const [error, setError] = useState('')
  const read = async () => {
    setError('')
    try {
      const variables = { agent: agentId, module: moduleId, search: search.trim() || null }
      setItems((await ask<{ read_memory: MemoryItem[] }>(READ, variables)).read_memory)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  useEffect(() => void read(), [agentId, moduleId])
  const submit = (event: Event) => {
    event.preventDefault()
    void read()
  }
  return (
    <section aria-label="Memory">
      <h3>Remembered</h3>
      <form class="inline-form" onSubmit={submit}>
        <input
          type="search"
          aria-label="Search in the memory"
          placeholder="Search by meaning"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <button type="submit" class="button">
          {search.trim() ? 'Search' : 'Refresh'}
        </button>
      </form>
      {error && <Notice kind="bad" title={error} />}
      {items?.length === 0 && <p class="muted">{search ? 'Nothing like it.' : 'Nothing is remembered yet.'}</p>}
      {items && <MemoryList items={items} />}
    </section>
  )
}
