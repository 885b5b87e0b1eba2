import type { TracedChange, VariantChange } from '../../../src/wire/variant.ts'

/** Agent that answers in a thread, with settings of the request and changed values of the agent. */
export interface Column {
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly model: string
  readonly temperature?: number
  /** Further options of the request, named as in the responses API. */
  readonly options?: Readonly<Record<string, unknown>>
  /** Values by which the agent is varied, with those that it had. */
  readonly changes?: readonly TracedChange[]
  /** Version of the agent that the changes began with. */
  readonly version?: string
}

export function agentOf({ model }: Pick<Column, 'model'>): string {
  return model.split('/')[0] ?? ''
}

export function isVaried({ changes = [] }: Column): boolean {
  return changes.length > 0
}

/** Changes of a column as requests take them. */
export function requestedChanges({ changes = [] }: Pick<Column, 'changes'>): VariantChange[] {
  return changes.map(({ before: _before, ...change }) => change)
}
