import { useQuery } from '../api.ts'
import { Notice } from '../components/notice.tsx'
import { formatTime } from '../format.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { href } from '../router.ts'
import { useRefresh } from '../use-refresh.ts'

interface DueTime {
  readonly due: number
  /** Null where it made none. */
  readonly response_id: string | null
  /** Status of the response, or the reason why there is none. */
  readonly status: string
}

interface Schedule {
  readonly id: string
  readonly tenant: string
  readonly when: string
  /** Null where nothing more is due. */
  readonly next: number | null
  readonly last: readonly DueTime[]
}

const QUERY =
  'query($id: String!) { agent_config(agent_id: $id) { schedules { id tenant when next last { due response_id status } } } }'

/** Schedules of an agent: when they are due, and what became of the last due times. */
export function Schedules({ agentId }: { agentId: string }) {
  const { data, error, reload } = useQuery<{ agent_config: { schedules: readonly Schedule[] } }>(QUERY, { id: agentId })
  useRefresh(reload)
  if (error)
    return (
      <Notice kind="bad" title="The schedules cannot be read">
        {error}
      </Notice>
    )
  return (
    <div class="module-sections">
      {data?.agent_config.schedules.map((schedule) => (
        <ScheduleSection key={`${schedule.id} ${schedule.tenant}`} schedule={schedule} />
      ))}
    </div>
  )
}

function ScheduleSection({ schedule: { id, tenant, when, next, last } }: { schedule: Schedule }) {
  return (
    <section class="panel side" aria-label={id}>
      <div class="panel-head">
        <h2>{id}</h2>
        <code class="muted">{when}</code>
      </div>
      <p class="facts dotted">
        <span>{next === null ? 'never due again' : `next: ${formatTime(next)}`}</span>
        {tenant && <span>tenant: {tenant}</span>}
      </p>
      {last.length === 0 ? (
        <p class="muted">Nothing was due yet.</p>
      ) : (
        <ol class="loads" aria-label="Last due times">
          {last.map((each) => (
            <DueItem key={each.due} {...each} />
          ))}
        </ol>
      )}
    </section>
  )
}

const GOOD: ReadonlySet<string> = new Set(['completed', 'queued', 'in_progress'])

function DueItem({ due, response_id: response, status }: DueTime) {
  const kind = GOOD.has(status) ? 'good' : status === 'failed' ? 'bad' : 'warn'
  return (
    <li>
      <time class="muted" dateTime={new Date(due * 1000).toISOString()}>
        {formatTime(due)}
      </time>
      <span class={`badge ${kind}`}>{response === null ? 'no run' : status.replace('_', ' ')}</span>
      {response === null ? (
        <span>{status}</span>
      ) : (
        status !== 'deleted' && <a href={href(['runs', runIdOf(response)])}>View the run</a>
      )}
    </li>
  )
}
