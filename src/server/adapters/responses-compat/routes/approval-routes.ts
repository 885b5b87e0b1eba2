import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Approval as StoredApproval } from '../../../../durable/approvals/approvals.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { Approval } from '../../../../wire/approval.ts'
import { deciderOf } from '../../../guards/decisions.ts'
import { withScope } from '../../../guards/door.ts'
import { requireOwnOrigin } from '../../../guards/own-origin.ts'
import { DecisionRequest, toAnswer } from './decision-request.ts'
import type { Describe } from './describe-responses.ts'
import { toPage } from './pages.ts'
import { type Query, readOneOf, readPageQuery } from './read-query.ts'
import type { InputItem, ResponseRecord } from './schema.ts'

interface ById {
  Params: { id: string }
  Querystring: Query
}

export interface ApprovalRoutesOptions {
  readonly runs: () => DurableRuns<ResponseRecord, InputItem>
  readonly describe: Describe
}

/** The inbox of calls that wait for a person, and the way to decide them. */
export function addApprovalRoutes(scope: FastifyInstance, { runs, describe }: ApprovalRoutesOptions): void {
  const guarded = (operation: Parameters<Describe>[0]) => ({
    config: withScope(describe(operation).config, 'approve'),
    onRequest: requireOwnOrigin,
  })
  scope.get<{ Querystring: Query }>('/approvals', guarded('listApprovals'), async ({ query }) => {
    const onlyOpen = (readOneOf(query, 'status', ['pending', 'all']) ?? 'pending') === 'pending'
    const { limit, order, after } = readPageQuery(query)
    const { approvals: found, hasMore } = await runs().approvals.list({ onlyOpen, limit, order, after })
    return toPage(found.map(toView), hasMore)
  })
  scope.get<ById>('/approvals/:id', guarded('getApproval'), async ({ params }) =>
    toView(await runs().approvals.get(params.id)),
  )
  scope
    .withTypeProvider<TypeBoxTypeProvider>()
    .post(
      '/approvals/:id',
      { ...guarded('decideApproval'), schema: { params: Type.Object({ id: Type.String() }), body: DecisionRequest } },
      async (request) => {
        const { id } = request.params
        const { by, requireMayDecide } = deciderOf(request)
        requireMayDecide()
        const decisions = new Map([[id, toAnswer(request.body)]])
        const { approvals, continuedBy } = await runs().deciding.decide(decisions, by)
        return toView({ ...(approvals.find((approval) => approval.id === id) as StoredApproval), continuedBy })
      },
    )
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
  const { kind, name, arguments: args, schema = null, message = null } = pending
  return {
    id,
    object: 'approval',
    kind: kind === 'question' ? 'question' : 'approval',
    response_id: runId,
    agent,
    name,
    arguments: args,
    message,
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
