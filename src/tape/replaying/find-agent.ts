import { relative, resolve } from 'node:path'
import { HostError } from '../../errors.ts'
import { listAgentFiles } from '../../host/agent-folder/list-agent-files.ts'
import { readAgentText, readClaim } from '../../host/agent-folder/read-agent-file.ts'
import { lastRunOf, type Tape } from '../file/read-tape.ts'

/**
 * Finds the agent of a tape among the agent files of the project.
 *
 * @returns its text, and the file relative to the project
 * @throws HostError `TAPE_INVALID` for an agent that is gone; AgentError `AGENT_INVALID` for one that cannot be read
 */
export async function findAgent(
  tape: Tape,
  { projectDir, agentDir = 'agents' }: { projectDir: string; agentDir?: string },
): Promise<{ source: string; file: string }> {
  const { id, file: recorded } = lastRunOf(tape).head.agent
  const paths = await listAgentFiles(resolve(projectDir, agentDir))
  let atItsPlace: { source: string; file: string } | undefined
  for (const path of paths) {
    const file = relative(projectDir, path)
    const text = await readAgentText(path)
    if (!text) continue
    const found = { source: text.text, file }
    if (readClaim(file, text).claimedId === id) return found
    // One that has another id by now, or can no longer be read: the error of its plan names it.
    if (file === recorded) atItsPlace = found
  }
  if (atItsPlace) return atItsPlace
  throw new HostError('TAPE_INVALID', `The tape is of agent '${id}', which the project no longer has.`, {
    suggestions: ['--as-recorded replays the agent as it was.'],
  })
}
