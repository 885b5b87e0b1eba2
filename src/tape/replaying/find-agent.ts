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
  for (const path of paths) {
    const file = relative(projectDir, path)
    const text = await readAgentText(path)
    // A file that no longer can be read is named by the error of its plan.
    if (text && (readClaim(file, text).claimedId === id || file === recorded)) return { source: text.text, file }
  }
  throw new HostError('TAPE_INVALID', `The tape is of agent '${id}', which the project no longer has.`, {
    suggestions: ['--as-recorded replays the agent as it was.'],
  })
}
