import { ProblemText } from '../components/problem-text.tsx'
import { formatTime } from '../format.ts'
import type { Load } from './agent-query.ts'

/** Loads of the agent's file, latest first. */
export function History({ loads }: { loads: readonly Load[] }) {
  return (
    <section class="panel">
      <ol class="loads">
        {loads.map((load) => (
          <li key={load.time}>
            <time class="muted" dateTime={new Date(load.time * 1000).toISOString()}>
              {formatTime(load.time)}
            </time>
            <span class={`badge ${load.kind === 'rejected' ? 'bad' : 'good'}`}>{load.kind}</span>
            <span>{load.file}</span>
            {load.problems.map((problem) => (
              <ProblemText key={problem.message} problem={problem} />
            ))}
          </li>
        ))}
      </ol>
    </section>
  )
}
