import { useQuery } from '../api.ts'
import { Empty, Notice } from '../components/notice.tsx'
import { TableHead } from '../components/table-head.tsx'
import { formatCount, formatTime, plural } from '../format.ts'
import { href } from '../router.ts'
import { useRefresh } from '../use-refresh.ts'

interface Delivery {
  readonly id: string
  readonly tenant: string
  readonly event: string
  /** Id of the response, or of the approval. */
  readonly subject: string
  readonly run_id: string
  readonly url: string
  readonly created_at: number
  readonly state: 'waiting' | 'retrying' | 'dead'
  readonly tries: number
  /** Null for a dead one. */
  readonly next_try_at: number | null
  readonly error: string | null
}

const FIRST = 200
const QUERY = `query($first: Int) { deliveries(first: $first) {
  id tenant event subject run_id url created_at state tries next_try_at error
} }`
const KINDS = { waiting: '', retrying: 'warn', dead: 'bad' } as const

/** Events for webhooks that have not been delivered. */
export function WebhooksScreen() {
  const { data, error, reload } = useQuery<{ deliveries: readonly Delivery[] }>(QUERY, { first: FIRST })
  useRefresh(reload)
  const deliveries = data?.deliveries ?? []
  if (data && deliveries.length === 0) return <NothingWaits />
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Webhooks</h1>
        <span class="muted" role="status">
          {deliveries.length === FIRST
            ? `The latest ${FIRST} events that have not been delivered`
            : `${plural(deliveries.length, 'event')} not delivered`}
        </span>
      </div>
      {error && (
        <Notice kind="bad" title="The deliveries cannot be read">
          {error}
        </Notice>
      )}
      {data && <Deliveries deliveries={deliveries} />}
    </div>
  )
}

function NothingWaits() {
  return (
    <Empty isPage title="Every event has arrived">
      Events for the webhooks of <code>webhooks.yml</code> are here until their receivers have taken them. Those that
      are dead stay for a week.
    </Empty>
  )
}

function Deliveries({ deliveries }: { deliveries: readonly Delivery[] }) {
  const hasTenants = deliveries.some(({ tenant }) => tenant !== '')
  const names = [
    'Event',
    'Of',
    'State',
    'Tries',
    'Next try',
    'Webhook',
    ...(hasTenants ? ['Tenant'] : []),
    'Last error',
  ]
  return (
    <section class="panel">
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Deliveries">
        <table>
          <TableHead names={names} figures={['Tries']} />
          <tbody>
            {deliveries.map((delivery) => (
              <Row key={delivery.id + delivery.url} delivery={delivery} hasTenants={hasTenants} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function Row({ delivery, hasTenants }: { delivery: Delivery; hasTenants: boolean }) {
  const { event, subject, run_id, url, created_at, state, tries, next_try_at, tenant, error } = delivery
  return (
    <tr>
      <th scope="row">
        {event} <span class="muted">{formatTime(created_at)}</span>
      </th>
      <td>
        <a href={href(['runs', run_id])} title={subject}>
          {subject.slice(0, 18)}…
        </a>
      </td>
      <td>
        <span class={`badge ${KINDS[state]}`}>{state}</span>
      </td>
      <td class="number">{formatCount(tries)}</td>
      <td>{next_try_at === null ? '–' : formatTime(next_try_at)}</td>
      <td>{url}</td>
      {hasTenants && <td>{tenant || '–'}</td>}
      <td class="last-error">{error}</td>
    </tr>
  )
}
