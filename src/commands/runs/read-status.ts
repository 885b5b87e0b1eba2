import { badOption } from '../../errors.ts'
import { RUN_STATUSES, type RunStatus } from '../../trace/run-columns.ts'

/** @throws HostError `OPTION_INVALID` for a word that is no status of runs */
export function readStatus(raw: string | undefined): RunStatus | undefined {
  const status = RUN_STATUSES.find((known) => known === raw)
  if (raw === undefined || status) return status
  throw badOption(`The status of a run is one of ${RUN_STATUSES.join(', ')}, not '${raw}'.`)
}
