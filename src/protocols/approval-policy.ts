import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Rule for one tool call: `always` needs a person, `never` does not, `deny` refuses it with a reason that the model reads. */
export type ApprovalRule = 'always' | 'never' | { readonly deny: string }

/**
 * Decides, call by call, which tools need a person. Named by `approval` in the config of a tool module.
 *
 * @example
 * ```ts
 * export const smallRefunds = defineModule({
 *   name: 'SmallRefunds',
 *   provides: [ApprovalPolicy],
 *   create: () => ({ ruleFor: (_name, { amount }) => (Number(amount) <= 10 ? 'never' : 'always') }),
 * })
 * ```
 */
export interface ApprovalPolicy {
  /**
   * Returns the rule for a call.
   *
   * @remarks The host calls it before each call of a tool whose module names this policy under `approval`, and again when a run continues with a
   * decision: equal calls need equal rules.
   * @throws unknown fails the call: nothing is executed, and the model reads the message
   */
  ruleFor(name: string, args: Readonly<Record<string, unknown>>, run: Run): ApprovalRule | Promise<ApprovalRule>
}
export const ApprovalPolicy = defineProtocol<ApprovalPolicy>('ApprovalPolicy', ['ruleFor'])
