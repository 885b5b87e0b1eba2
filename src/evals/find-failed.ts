import { relative } from 'node:path'
import { badOption } from '../errors.ts'
import { outcomesOf } from './outcomes.ts'
import { listResults, RESULT_FOLDER, readResult } from './result-file.ts'

/**
 * Ids of the cases of the newest result that failed with an agent or a variant, or of which a run did not begin.
 *
 * @throws HostError `OPTION_INVALID` where there are none, `PROJECT_INVALID` for a result that cannot be read
 */
export async function findFailed(projectDir: string): Promise<string[]> {
  const [path] = await listResults(projectDir)
  if (path === undefined) {
    throw badOption(`There is no result in ${RESULT_FOLDER} whose failed cases could be run again.`, {
      suggestions: ['Run agent-host eval first.'],
    })
  }
  const result = await readResult(path)
  const failed = result.columns.flatMap((_, column) =>
    outcomesOf(result, column)
      .filter(({ passes, runs }) => passes === false || runs.some(({ status }) => status === 'not_run'))
      .map(({ caseId }) => caseId),
  )
  if (failed.length === 0)
    throw badOption(`No case failed in ${relative(projectDir, path)}: there is none to run again.`)
  return [...new Set(failed)]
}
