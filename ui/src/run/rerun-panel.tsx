import { useEffect, useRef, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import type { RerunRequest } from '../../../src/wire/rerun.ts'
import type { VariantChange } from '../../../src/wire/variant.ts'
import { useQuery } from '../api.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { parseJson } from '../components/parse-json.ts'
import { Tabs } from '../components/tabs.tsx'
import { type AgentVariable, changeOf, variablesOf } from '../play/changes.ts'
import { useAgentChoice, useCalledAgents } from '../play/play-query.ts'
import { VariableFields } from '../play/variable-fields.tsx'
import { type Column, requestedChanges } from '../responses/column.ts'
import { RefusedVariant } from '../responses/variants-client.ts'
import { go, href } from '../router.ts'
import type { RunSummary } from '../types.ts'
import type { CallPayload } from './call-payload.ts'
import { readExchange } from './kinds/model-exchange.ts'
import { startRerun } from './start-rerun.ts'

type Edit = 'values' | 'arguments' | 'result'

interface RerunPanelProps {
  readonly run: RunSummary
  readonly call: Call
  readonly payload: CallPayload
  readonly onClose: () => void
}

/** Form of a rerun: what is done otherwise at a call, and what is called for real from there on. */
export function RerunPanel({ run, call, payload, onClose }: RerunPanelProps) {
  const edits = editsOf(call, payload)
  const [edit, setEdit] = useState<Edit>(call.kind === 'model' ? 'values' : 'result')
  const shown = shownTexts(call, payload)
  const [texts, setTexts] = useState(shown)
  const [hasTools, setHasTools] = useState(false)
  const [column, setColumn] = useState<Column>({ model: run.agent_id })
  const [refusal, setRefusal] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.scrollIntoView({ block: 'nearest' }), [])
  const needsTools = edit === 'arguments'
  const rerun = async () => {
    setBusy(true)
    setRefusal(undefined)
    try {
      const changes = requestedChanges(column)
      const live: RerunRequest['live'] = hasTools || needsTools ? ['llm', 'tools'] : ['llm']
      const changed = changes.length > 0 ? { changes } : {}
      const edited = edit === 'values' ? {} : { [edit]: readEdit(edit, call, texts[edit]) }
      const { run_id } = await startRerun(run.run_id, { call_id: call.id, live, ...changed, ...edited })
      go(href(['compare'], { left: run.run_id, right: run_id }))
    } catch (failure) {
      setRefusal(failure as Error)
      setBusy(false)
    }
  }
  return (
    <form
      class="rerun"
      ref={form}
      aria-label="Rerun from here"
      onSubmit={(event) => {
        event.preventDefault()
        void rerun()
      }}
    >
      <h3>Rerun from here</h3>
      <p class="muted">
        Everything before this call comes from the tape. From here on models are asked for real, and all else still
        comes from the tape.
      </p>
      <Tabs label="What to change" titles={edits} selected={edit} onSelect={setEdit} />
      {edit === 'values' ? (
        <Values run={run} column={column} refusal={refusal} onColumn={setColumn} onSubmit={() => void rerun()} />
      ) : (
        <textarea
          key={edit}
          class="rerun-text"
          rows={7}
          aria-label={edits[edit] ?? ''}
          value={texts[edit]}
          onInput={({ currentTarget }) => setTexts({ ...texts, [edit]: currentTarget.value })}
        />
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={hasTools || needsTools}
          disabled={needsTools}
          onChange={({ currentTarget }) => setHasTools(currentTarget.checked)}
        />
        <span>Call tools for real, with their approvals</span>
      </label>
      <p class="muted">
        {needsTools
          ? 'The tape has no result for other arguments: the tool is called.'
          : 'Without it, a tool call that the tape does not have ends the rerun.'}
      </p>
      {refusal && !(refusal instanceof RefusedVariant && refusal.problems.length > 0) && (
        <Notice kind="bad" title={refusal.message} />
      )}
      <div class="change-buttons">
        <button type="submit" class="button primary" disabled={isBusy}>
          <Icon name="go" />
          <span>Rerun and compare</span>
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function editsOf({ kind, method }: Call, { result }: CallPayload): Partial<Record<Edit, string>> {
  if (kind === 'model') return { values: 'Values', result: 'Answer' }
  const isTool = kind === 'tool' && method === 'executeTool'
  return {
    result: result === undefined ? 'Result instead' : 'Result',
    ...(isTool ? { arguments: 'Arguments' } : {}),
    values: 'Values',
  }
}

/** Texts of the call as it was, to edit. */
function shownTexts({ kind }: Call, { args, result }: CallPayload): Record<Exclude<Edit, 'values'>, string> {
  const { text, data } = (result ?? {}) as { text?: unknown; data?: unknown }
  const exchange = kind === 'model' ? readExchange(args[0], result) : undefined
  const shown = exchange ? exchange.answer.content : kind === 'tool' ? (data ?? parseJson(text)) : result
  return { arguments: toText(args[1] ?? {}), result: toText(shown) }
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

/** @throws Error for a text that is not the JSON that is needed */
function readEdit(edit: 'arguments' | 'result', { kind }: Call, text: string): unknown {
  if (edit === 'result' && kind === 'model') return text
  if (edit === 'result' && kind === 'tool') return parseJson(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}`)
  }
}

interface ValuesProps {
  readonly run: RunSummary
  readonly column: Column
  readonly refusal: Error | undefined
  readonly onColumn: (column: Column) => void
  readonly onSubmit: () => void
}

const VARIANT_QUERY = 'query($id: String!) { run(run_id: $id) { events(first: 1) { events { variant } } } }'
interface VariantData {
  readonly run: { readonly events: { readonly events: readonly { readonly variant: VariantChange[] | null }[] } } | null
}

/** Values of the agent as they were in the run. */
function Values({ run, column, refusal, onColumn, onSubmit }: ValuesProps) {
  const agent = useAgentChoice(run.agent_id)
  const called = useCalledAgents(run.agent_id)
  const { data } = useQuery<VariantData>(VARIANT_QUERY, { id: run.run_id })
  if (!agent || !data) return null
  const changed = { model: run.agent_id, changes: data.run?.events.events[0]?.variant ?? [] }
  const variables = variablesOf(agent, called).map((variable): AgentVariable => {
    const change = changeOf(changed, variable)
    return change ? { ...variable, value: change.value ?? null } : variable
  })
  const problems = refusal instanceof RefusedVariant ? refusal.problems : []
  const { version } = agent
  return <VariableFields {...{ variables, column, version, problems, onColumn, onSubmit }} />
}
