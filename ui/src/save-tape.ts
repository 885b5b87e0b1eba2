import { saveFile } from './save-file.ts'
import { authorization } from './token.ts'

/**
 * Saves the tape of a run as a file.
 *
 * @throws Error with the server's reason
 */
export async function saveTape(runId: string, fileName: string): Promise<void> {
  const response = await fetch(`api/ui/runs/${encodeURIComponent(runId)}/tape`, { headers: authorization() })
  if (!response.ok) {
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
    throw new Error(detail ?? `The server answered ${response.status}.`)
  }
  saveFile(fileName, await response.arrayBuffer(), 'application/gzip')
}
