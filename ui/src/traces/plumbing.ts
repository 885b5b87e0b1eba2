import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'

/** Methods that carry things about, where others do the work. */
const PLUMBING = new Set(['create', 'listTools', 'getHistory'])

/**
 * Finds the calls that only carry things about: lists of tools, the history, pieces of text, records. Those that failed, wait, or
 * have work within them are no plumbing.
 */
export function findPlumbing(tree: CallTree): ReadonlySet<Call> {
  const plumbing = new Set<Call>()
  // A call stands before the calls within it.
  for (let index = tree.calls.length - 1; index >= 0; index--) {
    const call = tree.calls[index] as Call
    const { kind, moduleId, status } = call
    const isCarrying = kind === 'response' || isPlumbing(call) || moduleId.startsWith('__')
    if (!isCarrying || status === 'failed' || status === 'waiting') continue
    if (call.children.every((child) => plumbing.has(child))) plumbing.add(call)
  }
  return plumbing
}

/** Also what a list of tools asks other modules for: it does no work of the run. */
function isPlumbing({ kind, method, parent }: Call): boolean {
  if (PLUMBING.has(method)) return true
  return kind === 'module' && parent?.method === 'listTools'
}
