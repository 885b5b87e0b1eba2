import { defineProtocol, isObject, type Run } from 'agent-host'
import type { AgUiEvent } from './ag-ui-event.ts'

/**
 * State that an agent shares with its page: any JSON value. Served over AG-UI, the adapter stands in the place of the module that provides
 * it: the state begins as the client sends it, and each change is an event.
 *
 * @example
 * ```ts
 * export const counter = defineModule({
 *   name: 'Counter',
 *   provides: [TextMessageHandler],
 *   uses: { state: AgentState },
 *   create: ({ state }) => ({
 *     async handleText(_, run) {
 *       const { count = 0 } = (await state.getState(run)) as { count?: number }
 *       await state.setState({ count: count + 1 }, run)
 *     },
 *   }),
 * })
 * ```
 */
export interface AgentState {
  /** Returns the state as it is now; `{}` where there is none yet. */
  getState(run: Run): Promise<unknown>
  /**
   * Replaces the state.
   *
   * @throws TypeError for a value that is no JSON
   */
  setState(state: unknown, run: Run): void | Promise<void>
}
export const AgentState = defineProtocol<AgentState>('AgentState', ['getState', 'setState'])

/**
 * Returns a state in memory that tells its changes: the whole of it first, then what changes.
 *
 * @param first what it begins with; `{}` by default
 * @param tell takes `STATE_SNAPSHOT` and `STATE_DELTA`; left out, nothing does
 */
export function makeAgentState(
  first: unknown = {},
  tell: (event: AgUiEvent) => void | Promise<void> = () => {},
): AgentState {
  let state = first
  let isTold = false
  return {
    getState: async () => structuredClone(state),
    setState(changed) {
      const [before, after] = [state, copy(changed)]
      state = after
      if (isTold && isObject(before) && isObject(after)) {
        const delta = diff(before, after, '')
        return delta.length > 0 ? tell({ type: 'STATE_DELTA', delta }) : undefined
      }
      isTold = true
      return tell({ type: 'STATE_SNAPSHOT', snapshot: after })
    },
  }
}

function copy(state: unknown): unknown {
  const text = JSON.stringify(state)
  if (text === undefined) throw new TypeError('A state is a JSON value.')
  return JSON.parse(text)
}

type Fields = Readonly<Record<string, unknown>>

/** The operations of a JSON Patch (RFC 6902) that make one object the other. Lists are replaced whole. */
function diff(before: Fields, after: Fields, path: string): object[] {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return [
    ...removed.map((key) => ({ op: 'remove', path: at(path, key) })),
    ...Object.entries(after).flatMap(([key, value]) => {
      if (!Object.hasOwn(before, key)) return [{ op: 'add', path: at(path, key), value }]
      const old = before[key]
      if (isObject(old) && isObject(value)) return diff(old, value, at(path, key))
      return JSON.stringify(old) === JSON.stringify(value) ? [] : [{ op: 'replace', path: at(path, key), value }]
    }),
  ]
}

/** A JSON Pointer (RFC 6901). */
function at(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
