import type { Rerun, RerunRequest } from '../../../src/wire/rerun.ts'
import type { VariantRefusal } from '../../../src/wire/variant.ts'
import { RefusedVariant } from '../responses/variants-client.ts'
import { authorization } from '../token.ts'

/** @throws RefusedVariant with the values that it is about, if any */
export async function startRerun(runId: string, request: RerunRequest): Promise<Rerun> {
  const response = await fetch(`api/ui/runs/${encodeURIComponent(runId)}/rerun`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(request),
  })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new RefusedVariant(response.status, body as Partial<VariantRefusal>)
  return body as Rerun
}
