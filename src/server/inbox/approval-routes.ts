import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { StoredApproval } from '../../durable/approvals/stored-approval.ts'
import type { DurableRuns } from '../../durable/durable-runs.ts'
import { uuidOf } from '../../durable/runs/run-ids.ts'
import { type Approval, type HiddenApproval, hideApproval } from '../../wire/approval.ts'
import { toPage, unknownCursor } from '../adapters/responses-compat/routes/pages.ts'
import type { ResponseRoutes } from '../adapters/responses-compat/routes/table.ts'
import type { LargeReplies } from '../adapters/responses-compat/runs/large-replies.ts'
import { showsContent } from '../guards/shows-content.ts'
import { noteAgent } from '../monitoring/request-log.ts'
import { toGivenAnswer } from './decision-request.ts'
import { deciderOf, requireMayDecide } from './may-decide.ts'

export interface ApprovalRoutesOptions {
  /** Returns the runs of the tenant of a request. */
  readonly runsOf: (request: FastifyRequest) => DurableRuns
  readonly routes: ResponseRoutes
  readonly large: LargeReplies
}

/** The inbox of calls that wait for a person, and the way to decide them. */
export function addApprovalRoutes(scope: FastifyInstance, { runsOf, routes, large }: ApprovalRoutesOptions): void {
  // Every page of the debug UI reads it every few seconds, which would bury the work of agents in the log.
  scope.route({
    ...routes.listApprovals((request, reply) =>
      large.readPage(reply, async () => {
        const { status, limit, order, after } = request.query
        const { approvals, unreadable } = runsOf(request)
        if (after !== undefined && !(await approvals.has(after))) throw unknownCursor('after')
        const range = { onlyOpen: status === 'pending', limit, order, after }
        const { approvals: found, hasMore } = await approvals.list(range, unreadable)
        return toPage(
          found.map((approval) => show(approval, request)),
          hasMore,
        )
      }),
    ),
    logLevel: 'warn',
  })
  scope.route(
    routes.getApproval((request, reply) =>
      large.readPage(reply, async () => show(await runsOf(request).approvals.get(request.params.id), request)),
    ),
  )
  scope.route({
    ...routes.decideApproval(async (request) => {
      requireMayDecide(request)
      const { id } = request.params
      const decisions = new Map([[id, toGivenAnswer(request.body)]])
      const { deciding } = runsOf(request)
      const { approvals, continuedBy } = await deciding.decide(decisions, deciderOf(request).by)
      const decided = approvals.find((approval) => approval.id === id) as StoredApproval
      noteAgent(request, decided.agent)
      return toView({ ...decided, continuedBy })
    }),
    logLevel: 'warn',
  })
  scope.route(
    routes.answerByCallback(async (request) => {
      requireMayDecide(request)
      const { query } = request.body
      const { approvals, deciding } = runsOf(request)
      const id = await approvals.findByState(new URLSearchParams(query).get('state') ?? '')
      const decided = await deciding.decide(
        new Map([[id, { kind: 'question', answers: [query] }]]),
        deciderOf(request).by,
      )
      return { continued_by: decided.continuedBy }
    }),
  )
}

/** Names and states alone for pages of other origins. */
function show(approval: StoredApproval, request: FastifyRequest): Approval | HiddenApproval {
  const view = toView(approval)
  return showsContent(request, 'approve') ? view : hideApproval(view)
}

/** An approval as clients see it. */
function toView({
  id,
  runId,
  agent,
  pending,
  createdAt,
  expiresAt,
  status,
  decision,
  continuedBy,
}: StoredApproval): Approval {
  const { kind, name, arguments: args, schema = null, message = null, url = null, asker } = pending
  return {
    id,
    object: 'approval',
    kind: kind === 'question' ? 'question' : 'approval',
    response_id: runId,
    agent: asker?.agent ?? agent,
    asked_by: [...(asker?.askedBy ?? [])],
    run_id: asker?.runId ?? uuidOf(runId),
    name,
    arguments: args,
    message,
    url,
    schema,
    created_at: createdAt,
    expires_at: expiresAt,
    status,
    decided_by: decision?.by ?? null,
    decided_at: decision?.at ?? null,
    reason: decision?.answer.kind === 'approval' ? (decision.answer.reason ?? null) : null,
    edited_arguments: decision?.answer.kind === 'approval' ? (decision.answer.arguments ?? null) : null,
    continued_by: continuedBy,
  }
}
