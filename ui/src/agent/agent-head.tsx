import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { ConfirmButton } from '../components/confirm-button.tsx'
import { DayFigures } from '../components/day-figures.tsx'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { ProblemText } from '../components/problem-text.tsx'
import { useDayNumbers } from '../day-numbers.ts'
import { formatTime, plural } from '../format.ts'
import { href } from '../router.ts'
import type { AgentDetails, Load } from './agent-query.ts'

interface AgentHeadProps {
  readonly agent: AgentDetails
  readonly canClear: boolean
}

/** Top of an agent's page: its description, and links. */
export function AgentHead({ agent, canClear }: AgentHeadProps) {
  const { id, title, description, file, modules, entry_points: entryPoints, attachments, loads } = agent
  return (
    <>
      <div class="screen-head">
        <h1>{title ?? id}</h1>
        <span class="head-links">
          <a class="button" href={href(['play', id])}>
            <Icon name="play" />
            <span>Try it</span>
          </a>
          <a class="button" href={href(['runs'], { agent: id })}>
            <Icon name="runs" />
            <span>Runs</span>
          </a>
          <a class="button" href={href(['metrics'], { agent: id })}>
            <Icon name="metrics" />
            <span>Metrics</span>
          </a>
          {canClear && <ClearTraces agentId={id} />}
        </span>
      </div>
      <div class="agent-head">
        <div class="agent-about">
          {description && <p class="lead">{description}</p>}
          <p class="muted facts dotted">
            <code>{id}</code>
            {file && <span>{file}</span>}
            <span>{plural(modules.length, 'module')}</span>
            {entryPoints.length > 0 && <span>entry points: {entryPoints.join(', ')}</span>}
            {attachments.length > 0 && (
              <span>takes {attachments.includes('*/*') ? 'any file' : attachments.join(', ')}</span>
            )}
          </p>
        </div>
        <LastDay agentId={id} />
      </div>
      <LatestProblem load={loads[0]} />
    </>
  )
}

function LastDay({ agentId }: { agentId: string }) {
  const day = useDayNumbers(agentId).get(agentId)
  if (!day) return null
  return (
    <section class="agent-day">
      <h2 class="agent-day-title">Last 24 hours</h2>
      <DayFigures {...day} />
    </section>
  )
}

function ClearTraces({ agentId }: { agentId: string }) {
  const [outcome, setOutcome] = useState('')
  const clear = () =>
    ask('mutation($id: String!) { clear_log(agent_id: $id) }', { id: agentId }).then(
      () => setOutcome('Traces cleared'),
      (failure: Error) => setOutcome(failure.message),
    )
  return (
    <>
      <ConfirmButton
        icon="trash"
        label="Clear traces"
        question={`Remove all traces of ${agentId}, and with them its runs and metrics?`}
        onConfirm={clear}
      />
      <span class="muted outcome" role="status">
        {outcome}
      </span>
    </>
  )
}

function LatestProblem({ load }: { load: Load | undefined }) {
  if (load?.kind !== 'rejected') return null
  return (
    <Notice
      kind="bad"
      title={`The current file has errors (${formatTime(load.time)}); still serving the last good version`}
    >
      {load.problems.map((problem) => (
        <ProblemText key={problem.message} problem={problem} />
      ))}
    </Notice>
  )
}
