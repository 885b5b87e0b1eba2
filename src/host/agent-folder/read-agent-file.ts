import { createHash } from 'node:crypto'
import { decodeText } from '../../decode-text.ts'
import { type DefinitionSource, readDefinition } from '../../definition/definition.ts'
import { AgentError, type Problem } from '../../definition/problem.ts'
import { messageOf, systemCodeOf } from '../../errors.ts'
import { readRegularFile } from '../../read-regular-file.ts'

/** Text of an agent file. */
export interface AgentText {
  readonly text: string
  /** Why there is no text; otherwise empty. */
  readonly problem: string
  /** Digest of both: two of the same hash are the same version. */
  readonly hash: string
}

/** The agent that a text claims to be. */
export interface AgentClaim {
  /** The parsed text; undefined when it cannot be read. */
  readonly source: DefinitionSource | undefined
  readonly claimedId: string | undefined
  readonly problems: readonly Problem[]
}

/** Reads an agent file. Undefined when it is not there. */
export async function readAgentText(path: string): Promise<AgentText | undefined> {
  let bytes: Buffer
  try {
    bytes = await readRegularFile(path)
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined
    return withHash('', `The file cannot be read: ${messageOf(error)}`)
  }
  let problem = ''
  const text = decodeText(bytes, 'The file', (message) => {
    problem = message
  })
  return withHash(problem === '' ? text : '', problem)
}

/** Parses a text, as far as needed to know whose it is. */
export function readClaim(name: string, { text, problem }: AgentText): AgentClaim {
  const refuse = (problems: readonly Problem[]) => ({ source: undefined, claimedId: undefined, problems })
  if (problem !== '') return refuse([{ file: name, message: problem, suggestions: [] }])
  try {
    const source = readDefinition(text, name)
    return { source, claimedId: source.definition.id, problems: [] }
  } catch (error) {
    if (error instanceof AgentError) return refuse(error.problems)
    return refuse([{ file: name, message: `The file cannot be read: ${messageOf(error)}`, suggestions: [] }])
  }
}

function withHash(text: string, problem: string): AgentText {
  return { text, problem, hash: createHash('sha256').update(text).update(problem).digest('base64') }
}
