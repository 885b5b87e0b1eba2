import { type Call, type CallTree, nameMethod } from '../../../src/trace/call-tree.ts'
import { participantName } from '../format.ts'
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

/** Name of a call in a trace: the tool, the model, or the method of the module. */
export function nameCall(call: Call): { readonly name: string; readonly detail: string } {
  const { kind, label, moduleId, method, usage } = call
  if (kind === 'model') return { name: usage?.model ?? participantName(moduleId), detail: '' }
  if (label !== undefined) return { name: label, detail: participantName(moduleId) }
  return { name: `${participantName(moduleId)}.${method}`, detail: '' }
}

/** Returns the innermost call that made the run fail, without failures that an orchestrator passed to the model. */
export function findFailure(tree: CallTree): Call | undefined {
  let failure = tree.roots.findLast(({ status }) => status === 'failed')
  for (let inner = failure; inner; inner = inner.children.findLast(({ status }) => status === 'failed')) failure = inner
  return failure
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
  return `${participantName(call.moduleId)}.${nameMethod(call)} ${call.usage?.model ?? ''}`.toLowerCase()
}
