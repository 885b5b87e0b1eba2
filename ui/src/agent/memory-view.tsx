import { useEffect, useState } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { ask } from '../api.ts'
import { ConfirmButton } from '../components/confirm-button.tsx'
import { type MemoryItem, MemoryList } from '../components/memory-list.tsx'
import { Notice } from '../components/notice.tsx'
import { formatCount } from '../format.ts'

const PLACE = '$agent: String!, $module: String!, $user: String'
const OF = 'agent_id: $agent, module_id: $module'
const READ = `mutation(${PLACE}, $tenant: String, $search: String) { read_memory(${OF}, tenant: $tenant, user: $user, search: $search) }`
const OWNERS = `mutation($agent: String!, $module: String!) { memory_owners(${OF}) }`
const FORGET = `mutation(${PLACE}, $id: String) { forget_memory(${OF}, user: $user, id: $id) }`

/** Whose entries they are: of a tenant, '' for the nameless one, and of its user, '' for requests without one, null for all. */
interface Owner {
  readonly tenant: string
  readonly user: string | null
  readonly count: number
}

interface MemoryViewProps {
  readonly agentId: string
  readonly moduleId: string
}

/** Contents of a memory: the latest entries, or those nearest to a question; of one user, where it keeps them apart. */
export function MemoryView({ agentId, moduleId }: MemoryViewProps) {
  const place = { agent: agentId, module: moduleId }
  const [search, setSearch] = useState('')
  const [owners, setOwners] = useState<readonly Owner[]>()
  const [chosen, setChosen] = useState<Owner>()
  const [items, setItems] = useState<readonly MemoryItem[]>()
  const [error, setError] = useState('')
  const isChosen = (owner: Owner) => owner.tenant === chosen?.tenant && owner.user === chosen.user
  const owner = owners?.find(isChosen) ?? owners?.[0]
  const { tenant = '', user = null } = owner ?? {}
  const attempt = (act: () => Promise<void>) => {
    setError('')
    return act().catch((failure: Error) => setError(failure.message))
  }
  const readOwners = () =>
    attempt(async () => setOwners((await ask<{ memory_owners: Owner[] }>(OWNERS, place)).memory_owners))
  const read = () =>
    attempt(async () => {
      const variables = { ...place, tenant: tenant || null, user: user || null, search: search.trim() || null }
      setItems((await ask<{ read_memory: MemoryItem[] }>(READ, variables)).read_memory)
    })
  const forget = (id?: string) =>
    attempt(async () => {
      await ask(FORGET, { ...place, user: user || null, id: id ?? null })
      if (id === undefined) setChosen(undefined)
      await readOwners()
      await read()
    })
  useEffect(() => void readOwners(), [agentId, moduleId])
  useEffect(() => void (owners !== undefined && read()), [agentId, moduleId, tenant, user, owners === undefined])
  // Only a key of that tenant may.
  const mayForget = tenant === ''
  const submit = (event: Event) => {
    event.preventDefault()
    void read()
  }
  return (
    <section aria-label="Memory">
      <h3>Remembered</h3>
      {owners?.some(({ tenant, user }) => tenant !== '' || user !== null) && (
        <Owners owners={owners} chosen={owner} onChoose={setChosen} />
      )}
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
        {mayForget && user !== null && items && items.length > 0 && (
          <ConfirmButton
            icon="close"
            label="Delete all"
            question={`Delete everything that is remembered of ${nameOf({ tenant, user })} for good?`}
            onConfirm={() => void forget()}
          />
        )}
      </form>
      {error && <Notice kind="bad" title={error} />}
      {items?.length === 0 && <p class="muted">{search ? 'Nothing like it.' : 'Nothing is remembered yet.'}</p>}
      {items && <MemoryList items={items} onDelete={mayForget ? (id) => void forget(id) : undefined} />}
    </section>
  )
}

interface OwnersProps {
  readonly owners: readonly Owner[]
  readonly chosen: Owner | undefined
  readonly onChoose: (owner: Owner) => void
}

function Owners({ owners, chosen, onChoose }: OwnersProps) {
  return (
    <ul class="memory-owners" aria-label="Users">
      {owners.map((owner) => (
        <li key={`${owner.tenant}/${owner.user}`}>
          <button type="button" class="button" aria-pressed={owner === chosen} onClick={() => onChoose(owner)}>
            {nameOf(owner)} <span class="muted">{formatCount(owner.count)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function nameOf({ tenant, user }: Pick<Owner, 'tenant' | 'user'>): string {
  const name = user === null ? 'all users' : cleanText(user) || 'requests without a user'
  return tenant === '' ? name : `${name} (${cleanText(tenant)})`
}
