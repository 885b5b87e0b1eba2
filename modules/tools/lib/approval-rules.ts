import { type ApprovalNeed, ApprovalPolicy, fitsGlob, type ModuleContext, type ToolDefinition, Type } from 'agent-host'

/** `always`, `never`, or the id of a module that decides. */
export const Rule = Type.Union([Type.Literal('always'), Type.Literal('never'), Type.String({ minLength: 1 })])

/** Rules by globs of tool names, or one rule for all tools. */
export type ApprovalRules = string | Readonly<Record<string, string>>

/** The rule of a tool: the first whose glob fits its name; undefined when none does. */
export function ruleOf(approval: ApprovalRules | undefined, tool: string): string | undefined {
  if (approval === undefined || typeof approval === 'string') return approval
  return Object.entries(approval).find(([glob]) => fitsGlob(tool, glob))?.[1]
}

/** @param argsOf returns the arguments that the tool will get, for a module that decides by them */
export function needOf(rule: string, argsOf?: () => Readonly<Record<string, unknown>>): ApprovalNeed {
  if (rule === 'always' || rule === 'never') return rule === 'always'
  return { policy: rule, ...(argsOf && { arguments: argsOf() }) }
}

/** Says in a definition which of its calls need a person. @param need of all calls; `by-arguments` where it differs */
export function withApproval(definition: ToolDefinition, need: ApprovalNeed | 'by-arguments'): ToolDefinition {
  if (need === false) return definition
  return { ...definition, approval: need === true ? 'always' : 'sometimes' }
}

/**
 * Checks that every rule is a known word or names a module that decides.
 *
 * @throws Error naming the rule
 */
export function checkRules(
  approval: ApprovalRules | undefined,
  words: readonly string[],
  context: ModuleContext,
): void {
  const rules = typeof approval === 'object' ? Object.values(approval) : [approval]
  const policies = context.providersOf(ApprovalPolicy)
  const unknown = rules.find((rule) => rule !== undefined && !words.includes(rule) && !policies.includes(rule))
  if (unknown === undefined) return
  const known = policies.length > 0 ? `, or one of these modules: ${policies.join(', ')}` : ''
  throw new Error(
    `approval: '${unknown}' is neither ${words.join(' nor ')} nor a module that provides ApprovalPolicy. Use ${words.join(', ')}${known}.`,
  )
}
