import type { TakenDecisions } from '../decisions/resumption.ts'

/**
 * Mark of a run in progress: the server that runs it, and how often it was begun. No two owners write the same one, so a write
 * that compares it is fenced.
 */
export interface OwnerMark {
  /** Undefined in a mark that cannot be read. */
  readonly server: string | undefined
  /** Counted from 1 for a run of the queue; 0 for any other. */
  readonly attempt: number
  /** Decisions that a run took of which nothing else is stored. */
  readonly resumes?: TakenDecisions | undefined
}

/** Mark of a run that waits for a worker. */
export interface QueuedMark {
  /** Name of the agent in the request: a worker takes only runs of its agents. Undefined in a mark that cannot be read. */
  readonly agent: string | undefined
  /** Number of times that it was begun before. */
  readonly attempts: number
  /** Time since when it waits, in Unix milliseconds. */
  readonly sinceMs: number
}

export function writeOwner(server: string, attempt = 0, resumes?: TakenDecisions): string {
  return JSON.stringify({ server, attempt: attempt || undefined, resumes })
}

export function parseOwner(mark: string): OwnerMark {
  try {
    const { server, attempt = 0, resumes } = JSON.parse(mark) as Partial<OwnerMark>
    return { server, attempt, resumes }
  } catch {
    return { server: undefined, attempt: 0 }
  }
}

export function parseQueued(text: string): QueuedMark {
  try {
    const { agent, attempts, sinceMs } = JSON.parse(text) as QueuedMark
    if (typeof agent === 'string') return { agent, attempts, sinceMs }
  } catch {
    // As one without an agent.
  }
  return { agent: undefined, attempts: 0, sinceMs: Date.now() }
}
