import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AgentError } from '../../../../definition/problem.ts'
import { hasCode, messageOf } from '../../../../errors.ts'
import { toResumableRun } from '../../../../host/waiting-run.ts'
import type { TapedCall } from '../../../../tape/file/read-tape.ts'
import { encodeValue, jsonFields } from '../../../../tape/file/tape-values.ts'
import type { StartedRerun } from '../../../../tape/reruns/rerun.ts'
import { readTraceLine } from '../../../../trace/files/trace-line.ts'
import type { TracedEvent } from '../../../../trace/files/traced-event.ts'
import type { RunSummary } from '../../../../trace/run-columns.ts'
import type { Traces } from '../../../../trace/traces.ts'
import type { Rerun, RerunRequest } from '../../../../wire/rerun.ts'
import { refusedField } from '../../../bodies/invalid-field.ts'
import { isOwnPage } from '../../../guards/shows-content.ts'
import type { DebugAdapterOptions } from '../../adapter.ts'
import { existsFor, type UiRoutes } from '../routes.ts'
import { refuseSecrets, toRefusal } from '../variant-routes.ts'
import { sees, viewerOf } from '../viewer.ts'

type RerunRouteOptions = Pick<DebugAdapterOptions, 'host' | 'redact' | 'runs' | 'log'> & { readonly traces: Traces }

/** A result may be the text of a page. */
const MAX_BYTES = 4 * 1024 * 1024
const EVENTS_AT_ONCE = 5000

/** Adds the route by which the page runs a recorded run again: for the page of this server alone. */
export function addRerunRoute(app: FastifyInstance, options: RerunRouteOptions, { rerunRun }: UiRoutes): void {
  const { traces } = options
  app.route({
    ...rerunRun(async (request, reply) => {
      const run = await traces.query('run', request.params.run_id)
      if (!run || !sees(viewerOf(request), run)) return reply.code(404).send({ detail: 'There is no such run' })
      return rerun(run, request, reply, options)
    }),
    bodyLimit: MAX_BYTES,
    onRequest: existsFor(isOwnPage),
  })
}

async function rerun(
  summary: RunSummary,
  { body }: FastifyRequest<{ Body: RerunRequest }>,
  reply: FastifyReply,
  { host, traces, redact, runs, log }: RerunRouteOptions,
): Promise<FastifyReply> {
  const { run_id: runId } = summary
  const { findTapedCall, readTape, readWholeTape, startRerun } = await loadTapes()
  const bytes = await readWholeTape(summary, { traces, host })
  if (!bytes) return reply.code(404).send({ detail: 'There is no tape of this run' })
  const { changes = [], live = ['llm'] } = body
  if (body.arguments && !live.includes('tools')) {
    throw refusedField('arguments', 'other arguments are a call that the tape does not have; live must name tools')
  }
  try {
    refuseSecrets(changes, redact)
    const tape = await readTape(bytes, runId)
    const run = tape.runs.find(({ turn }) => turn.run_id === runId)
    const call = run && findTapedCall(run, await readCalls(summary, body.call_id, traces), body.call_id)
    if (!run || !call)
      throw refusedField('call_id', 'the tape has no such call: it is none of a model, a tool, a memory or a store')
    const started = await startRerun(host, { tape, run, call, edit: editOf(body, call), changes, live })
    void keepWaiting(started, runs).catch((error) => log.error(`The rerun '${started.handle.id}': ${messageOf(error)}`))
    const answer: Rerun = { run_id: started.handle.id, from_call: started.fromCall }
    return reply.code(201).send(answer)
  } catch (error) {
    if (error instanceof AgentError) return reply.code(400).send(toRefusal(error, () => ({}), redact))
    if (hasCode(error, 'TAPE_INVALID')) throw refusedField('run_id', redact(error.message))
    throw error
  }
}

/** Loaded by the first rerun. */
async function loadTapes() {
  const [file, call, reruns, tapes] = await Promise.all([
    import('../../../../tape/file/read-tape.ts'),
    import('../../../../tape/reruns/find-taped-call.ts'),
    import('../../../../tape/reruns/rerun.ts'),
    import('./run-tape.ts'),
  ])
  return { ...file, ...call, ...reruns, ...tapes }
}

/** Stores a rerun that waits, so that a decision continues it: as any run of the agent, without the tape. */
async function keepWaiting({ handle, agent, turn }: StartedRerun, runs: RerunRouteOptions['runs']): Promise<void> {
  // The trace says how the others ended.
  const result = await handle.result.catch(() => undefined)
  if (result?.status !== 'waiting') return
  const { options } = toResumableRun(agent, result, turn)
  await runs.of(turn.tenant ?? '').keep({ ...options, agent, messages: turn.messages, result })
}

/** Events of the calls of one method: that of a call. */
async function readCalls(run: RunSummary, callId: string, traces: Traces): Promise<TracedEvent[]> {
  const { run_id: runId } = run
  const read = async (query: object): Promise<TracedEvent[]> => {
    const found: TracedEvent[] = []
    for (let after = -1; ; ) {
      const page = await traces.events(run, { runId, after, first: EVENTS_AT_ONCE, ...query })
      found.push(...page.events.flatMap(({ line }) => readTraceLine(line) ?? []))
      after = page.events.at(-1)?.index ?? after
      if (!page.hasMore) return found
    }
  }
  const [call] = await read({ callId })
  return call ? read({ moduleId: call.module_id, methodName: call.method_name }) : []
}

function editOf({ arguments: args, result }: RerunRequest, call: TapedCall) {
  const encode = (value: unknown) => encodeValue(value, () => {})
  if (call.line.protocol === 'LLM' && result !== undefined && typeof result !== 'string') {
    throw refusedField('result', 'that of a model must be a text')
  }
  return {
    arguments: args && jsonFields(encode(args)),
    result: result === undefined ? undefined : encode(result),
  }
}
