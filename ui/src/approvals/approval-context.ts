import { useEffect, useState } from 'preact/hooks'
import type { Approval } from '../../../src/wire/approval.ts'
import { ask } from '../api.ts'
import { runIdOf } from '../responses/responses-client.ts'

/** Circumstances of a call that waits: texts are empty where the traces do not say. */
export interface ApprovalContext {
  /** Name by which the client calls its user. */
  readonly user: string
  /** The user's own question. */
  readonly question: string
  /** Text before the call, of the agent that makes it. */
  readonly said: string
  /** Description of the tool. */
  readonly description: string
}

interface RunPart {
  readonly user: string | null
  readonly input: string | null
  readonly output: string | null
  readonly tools: { readonly events: readonly { readonly result: unknown }[] }
}

/** Runs of one query; the server limits aliases. */
const MAX_RUNS = 20
const FIELDS =
  'user input output tools: events(first: 5, method_name: "listTools", event_type: "result") { events { result } }'

/** Reads what led to approvals, by their ids. What was read once is not read again. */
export function useApprovalContexts(approvals: readonly Approval[]): ReadonlyMap<string, ApprovalContext> {
  const [runs, setRuns] = useState<ReadonlyMap<string, RunPart>>(new Map())
  const ids = approvals.flatMap(({ response_id, run_id }) => [runIdOf(response_id), run_id])
  const missing = [...new Set(ids)].filter((id) => !runs.has(id))
  const wanted = missing.slice(0, MAX_RUNS)
  useEffect(() => {
    if (wanted.length === 0) return
    const leave = new AbortController()
    readRuns(wanted, leave.signal).then(
      (found) => setRuns((before) => new Map([...before, ...found])),
      // A decision is possible without it.
      () => {},
    )
    return () => leave.abort()
  }, [wanted.join()])
  return new Map(
    approvals.flatMap((approval) => {
      const [run, asking] = [runs.get(runIdOf(approval.response_id)), runs.get(approval.run_id)]
      return run && asking ? [[approval.id, contextOf(approval, run, asking)] as const] : []
    }),
  )
}

async function readRuns(ids: readonly string[], signal: AbortSignal): Promise<Map<string, RunPart>> {
  const names = ids.map((_, index) => `$r${index}: String!`).join(', ')
  const fields = ids.map((_, index) => `r${index}: run(run_id: $r${index}) { ${FIELDS} }`).join(' ')
  const variables = Object.fromEntries(ids.map((id, index) => [`r${index}`, id]))
  const found = await ask<Record<string, RunPart | null>>(`query(${names}) { ${fields} }`, variables, signal)
  const none: RunPart = { user: null, input: null, output: null, tools: { events: [] } }
  return new Map(ids.map((id, index) => [id, found[`r${index}`] ?? none]))
}

/**
 * @param run that the client asked
 * @param asking run of the agent that makes the call: the same one, or one below it
 */
function contextOf({ name }: Approval, { user, input }: RunPart, { output, tools }: RunPart): ApprovalContext {
  const listed = tools.events.flatMap(({ result }) => (Array.isArray(result) ? (result as unknown[]) : []))
  const tool = listed.map((each) => (each ?? {}) as Record<string, unknown>).find((each) => each.name === name)
  return {
    user: user ?? '',
    question: input ?? '',
    said: output ?? '',
    description: typeof tool?.description === 'string' ? tool.description : '',
  }
}
