import { ProblemText } from '../components/problem-text.tsx'
import { formatTime, shortVersion } from '../format.ts'
import { href } from '../router.ts'
import type { AgentDetails, Load } from './agent-query.ts'
import { VersionDiff } from './version-diff.tsx'

/** Loads of the agent's file, latest first: each with its runs, and what it changed. */
export function History({ agent: { id, loads } }: { agent: AgentDetails }) {
  return (
    <section class="panel">
      <ol class="loads">
        {loads.map((load, index) => (
          <LoadItem
            key={load.time}
            agentId={id}
            load={load}
            before={loads.slice(index + 1).find(({ definition }) => definition !== null)}
          />
        ))}
      </ol>
    </section>
  )
}

interface LoadItemProps {
  readonly agentId: string
  readonly load: Load
  /** The load before it that was put into service. */
  readonly before: Load | undefined
}

function LoadItem({ agentId, load, before }: LoadItemProps) {
  const { time, kind, file, problems, version, definition } = load
  return (
    <li>
      <time class="muted" dateTime={new Date(time * 1000).toISOString()}>
        {formatTime(time)}
      </time>
      <span class={`badge ${kind === 'rejected' ? 'bad' : 'good'}`}>{kind}</span>
      <span>{file}</span>
      {version && <a href={href(['runs'], { agent: agentId, version })}>runs of version {shortVersion(version)}</a>}
      {problems.map((problem) => (
        <ProblemText key={problem.message} problem={problem} />
      ))}
      {definition !== null && before?.definition != null && (
        <VersionDiff before={before.definition} after={definition} />
      )}
    </li>
  )
}
