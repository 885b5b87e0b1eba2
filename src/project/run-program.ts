import type { Options } from 'execa'

/** End of a program. */
interface ProgramEnd {
  readonly failed: boolean
  /** Undefined for a program that could not be started, or was stopped. */
  readonly exitCode?: number
  /** Code of the system where it could not be started. */
  readonly code?: string
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end; one that fails is no error. */
export async function runProgram(command: string, args: readonly string[], options: Options): Promise<ProgramEnd> {
  const { execa } = await import('execa')
  return (await execa(command, args, { ...options, reject: false })) as ProgramEnd
}
