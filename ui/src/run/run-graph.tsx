import { useQuery } from '../api.ts'
import type { ExchangeRow, ModuleSummary } from '../graph/graph-layout.ts'
import { RunFlow } from '../graph/run-flow.tsx'
import { go, href } from '../router.ts'
import type { LoadedRun } from '../traces/run-query.ts'

const QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  modules { id module source provides } exchange { module protocol provider fieldName }
} }`

interface QueryData {
  readonly agent_config: { readonly modules: readonly ModuleSummary[]; readonly exchange: readonly ExchangeRow[] }
}

/** A run in the graph of its agent; of an agent that is gone, the modules that the run called. */
export function RunGraph({ loaded }: { loaded: LoadedRun }) {
  const { agent_id: agent } = loaded.run
  const { data, error } = useQuery<QueryData>(QUERY, { id: agent })
  if (!data && error === undefined) return null
  const { modules, exchange } = data?.agent_config ?? NOTHING
  return (
    <RunFlow
      loaded={loaded}
      modules={modules}
      exchange={exchange}
      selected=""
      onSelect={(module) => go(href(['agents', agent], { module }))}
    />
  )
}

const NOTHING: QueryData['agent_config'] = { modules: [], exchange: [] }
