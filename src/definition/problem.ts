import { HostError } from '../errors.ts'

/** Keys and indexes from the root of a value to a place in it. */
export type Path = readonly (string | number)[]

/** Position in a text. Both numbers start at 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** One problem of an agent, and the next step. */
export interface Problem extends Partial<Position> {
  /** Relative to the project folder. */
  readonly file?: string
  readonly message: string
  readonly suggestions: readonly string[]
}

/**
 * An agent that cannot be registered, with everything that is wrong with it.
 *
 * @example
 * ```ts
 * export async function register(host: AgentHost, text: string): Promise<void> {
 *   try {
 *     await host.register(text)
 *   } catch (error) {
 *     if (!(error instanceof AgentError)) throw error
 *     for (const { line, message } of error.problems) console.error(`line ${line}: ${message}`)
 *   }
 * }
 * ```
 */
export class AgentError extends HostError {
  override readonly name = 'AgentError'
  readonly problems: readonly Problem[]
  /** The project's files that the agent needs (absolute paths): a change of one may fix it. */
  readonly files: readonly string[]
  /** True where it calls other agents: a change of one of these may fix it. */
  readonly callsAgents: boolean

  constructor(
    code: 'AGENT_INVALID' | 'AGENT_DUPLICATE',
    problems: readonly Problem[],
    {
      files = [],
      callsAgents = false,
      cause,
    }: { files?: Iterable<string>; callsAgents?: boolean; cause?: unknown } = {},
  ) {
    super(code, problems.map(formatProblem).join('\n'), {
      suggestions: problems.flatMap(({ suggestions }) => suggestions),
      cause,
    })
    this.problems = problems
    this.files = [...files]
    this.callsAgents = callsAgents
  }
}

/** `agents/support.yml:12:5: message`. */
export function formatProblem({ file, line, column, message }: Problem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':')
  return place ? `${place}: ${message}` : message
}

/** `'a', 'b' and 'c'`. */
export function listNames(names: Iterable<string>): string {
  const quoted = [...names].map((name) => `'${name}'`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`
}
