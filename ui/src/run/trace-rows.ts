import { type Call, type CallTree, nameMethod } from '../../../src/trace/calls/call-tree.ts'
import { participantName } from '../format.ts'
import { hasWaited, type RunStatus } from '../types.ts'
import { type Fold, findFolds } from './folds.ts'

/** Row of the trace: a call, or repetitions that are folded. */
export type TraceRow =
  | { readonly kind: 'call'; readonly call: Call; readonly isCollapsed: boolean }
  | { readonly kind: 'fold'; readonly fold: Fold; readonly depth: number }

/** Time that the whole width stands for. */
export interface Span {
  /** Unix seconds. */
  readonly startedAt: number
  readonly totalMs: number
}

/** Choices that decide which rows there are. */
export interface TraceChoices {
  /** Calls that are left out, unless a filter finds them. */
  readonly plumbing: ReadonlySet<Call>
  readonly collapsed: ReadonlySet<string>
  readonly unfolded: ReadonlySet<string>
  readonly selected: string
  readonly filter: string
  readonly isOnlyErrors: boolean
}

/** Lists the rows of a trace: every call below its caller. A filter shows matches with all their callers. */
export function listRows(tree: CallTree, choices: TraceChoices): TraceRow[] {
  const wanted = findWanted(tree, choices)
  const folds = wanted ? undefined : findFolds(tree, choices.unfolded, choices.selected)
  const rows: TraceRow[] = []
  const rest = [...tree.roots].reverse()
  for (let call = rest.pop(); call; call = rest.pop()) {
    if (wanted && !wanted.has(call)) continue
    if (!wanted && choices.plumbing.has(call)) continue
    const fold = folds?.byFirst.get(call.id)
    if (fold) rows.push({ kind: 'fold', fold, depth: call.depth })
    if (folds?.hidden.has(call)) continue
    const isCollapsed = !wanted && choices.collapsed.has(call.id)
    rows.push({ kind: 'call', call, isCollapsed })
    if (!isCollapsed)
      for (let index = call.children.length - 1; index >= 0; index--) rest.push(call.children[index] as Call)
  }
  return rows
}

/** Name of a call in a trace: the tool, the model, the agent that another called, or the method of the module. */
export function nameCall(call: Call): { readonly name: string; readonly detail: string } {
  const { kind, label, moduleId, method, usage } = call
  if (kind === 'agent' && call.parent) return { name: call.agentId, detail: `${moduleId}.${method}` }
  if (kind === 'model') return { name: usage?.model ?? participantName(moduleId), detail: '' }
  if (label !== undefined) return { name: label, detail: participantName(moduleId) }
  return { name: `${participantName(moduleId)}.${method}`, detail: '' }
}

/** Id of the run of the agent that a call began, or that it stands in as the first of another run; undefined for any other. */
export function childRunOf(call: Call): string | undefined {
  const entry = [call, ...call.children].find(({ runId, parent }) => parent && runId !== parent.runId)
  return entry?.runId ?? undefined
}

/** Returns the call that says most about a run: the one that failed, the one that waits, or the last of a model. */
export function findDecisive(status: RunStatus, tree: CallTree): Call | undefined {
  if (status === 'failed') return findFailure(tree)
  const waiting = hasWaited(status) || status === 'handed_to_client'
  const held = waiting ? tree.calls.findLast((call) => call.status === 'waiting') : undefined
  return held ?? tree.calls.findLast(({ kind }) => kind === 'model') ?? tree.roots[0]
}

/** Returns the innermost call that made the run fail, without failures that were caught on the way. */
export function findFailure(tree: CallTree): Call | undefined {
  let failure = tree.roots.findLast(({ status }) => status === 'failed')
  for (let inner = failure; inner; inner = inner.children.findLast((child) => isReason(child, inner))) failure = inner
  return failure
}

/** Tells whether a call failed, and the one around it for the same reason. */
function isReason({ status, error = '' }: Call, around: Call | undefined): boolean {
  return status === 'failed' && (around?.error ?? '').includes(error.split('\n', 1)[0] ?? '')
}

/** Calls that the filter finds and those above them; undefined when nothing is filtered. */
function findWanted(tree: CallTree, { filter, isOnlyErrors }: TraceChoices): ReadonlySet<Call> | undefined {
  const text = filter.trim().toLowerCase()
  if (text === '' && !isOnlyErrors) return undefined
  const wanted = new Set<Call>()
  for (const call of tree.calls) {
    if (isOnlyErrors && call.status !== 'failed') continue
    if (text !== '' && !searchText(call).includes(text)) continue
    for (let each: Call | undefined = call; each && !wanted.has(each); each = each.parent) wanted.add(each)
  }
  return wanted
}

function searchText(call: Call): string {
  return `${participantName(call.to)}.${nameMethod(call)} ${call.usage?.model ?? ''}`.toLowerCase()
}
