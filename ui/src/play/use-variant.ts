import { useEffect, useState } from 'preact/hooks'
import type { Variant, VariantProblem } from '../../../src/wire/variant.ts'
import { agentOf, type Column, isVaried, requestedChanges } from '../responses/column.ts'
import { makeVariant, RefusedVariant } from '../responses/variants-client.ts'

/** Variant of a column, as the server sees it. */
export interface CheckedVariant {
  /** Undefined while it is checked, for the agent as it is, and when it is refused. */
  readonly variant: Variant | undefined
  readonly problems: readonly VariantProblem[]
  /** Another reason of a refusal; empty when there is none. */
  readonly error: string
  /** Another version of the agent is in service. */
  readonly isOutdated: boolean
}

const UNCHECKED: CheckedVariant = { variant: undefined, problems: [], error: '', isOutdated: false }
/** Typing pauses for so long before a value is checked. */
const PAUSE_MS = 350

/**
 * Has the server check a variant while it is written.
 *
 * @param definition the whole text instead of the column's changes
 */
export function useVariant(column: Column, definition?: string): CheckedVariant {
  const [checked, setChecked] = useState(UNCHECKED)
  const key = JSON.stringify([column.model, requestedChanges(column), column.version, definition])
  useEffect(() => {
    if (definition === undefined && !isVaried(column)) return setChecked(UNCHECKED)
    setChecked((before) => ({ ...before, variant: undefined }))
    const leave = new AbortController()
    const timer = setTimeout(() => {
      const { version } = column
      const text = definition === undefined ? { changes: requestedChanges(column) } : { definition }
      const request = { agent_id: agentOf(column), ...(version === undefined ? {} : { version }), ...text }
      makeVariant(request, leave.signal).then(
        (variant) => setChecked({ ...UNCHECKED, variant }),
        (failure: unknown) => {
          if (!leave.signal.aborted) setChecked(toRefused(failure))
        },
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      leave.abort()
    }
  }, [key])
  return checked
}

function toRefused(failure: unknown): CheckedVariant {
  const { message } = failure as Error
  if (!(failure instanceof RefusedVariant)) return { ...UNCHECKED, error: message }
  const { problems, isOutdated } = failure
  return { ...UNCHECKED, problems, isOutdated, error: problems.length === 0 && !isOutdated ? message : '' }
}
