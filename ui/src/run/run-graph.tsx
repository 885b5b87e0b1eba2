import { useQuery } from '../api.ts'
import { graphOf } from '../graph/graph-of-agent.ts'
import { RunFlow } from '../graph/run-flow.tsx'
import { go, href } from '../router.ts'
import type { LoadedRun } from '../traces/run-query.ts'

const QUERY = `query($id: String!) { agent_config(agent_id: $id) {
  modules { id module source provides config } exchange { module protocol provider fieldName } calls { module agent }
} }`

interface QueryData {
  readonly agent_config: Parameters<typeof graphOf>[0]
}

/** A run in the graph of its agent; of an agent that is gone, the modules that the run called. */
export function RunGraph({ loaded }: { loaded: LoadedRun }) {
  const { agent_id: agent } = loaded.run
  const { data, error } = useQuery<QueryData>(QUERY, { id: agent })
  if (!data && error === undefined) return null
  return (
    <RunFlow
      loaded={loaded}
      {...graphOf(data?.agent_config ?? NOTHING)}
      selected=""
      onSelect={(module) => go(href(['agents', agent], { module }))}
    />
  )
}

const NOTHING: QueryData['agent_config'] = { modules: [], exchange: [], calls: [] }
