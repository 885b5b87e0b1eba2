/** Approval or question as clients see it: the inbox of the debug UI and the command line, too. */
export interface ApprovalView {
  readonly id: string
  readonly object: 'approval'
  readonly kind: 'approval' | 'question'
  readonly response_id: string
  readonly agent: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** The question, or the reason why somebody has to decide. */
  readonly message: string | null
  /** JSON Schema of edited arguments, or of the answer. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** Unix seconds, as all times. */
  readonly created_at: number
  readonly expires_at: number | null
  readonly status: string
  readonly decided_by: string | null
  readonly decided_at: number | null
  readonly reason: string | null
  readonly edited_arguments: Readonly<Record<string, unknown>> | null
  readonly continued_by: string | null
}

/** Decision of a person, as clients send it. */
export type ApprovalDecision =
  | { readonly decision: 'approve' }
  | { readonly decision: 'reject'; readonly reason?: string }
  | { readonly decision: 'edit'; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly decision: 'answer'; readonly answer: unknown }
