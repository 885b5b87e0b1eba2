/** Prompts are asked only where somebody can answer: on a terminal, outside continuous integration. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !process.env.CI
}

/** Ctrl-C or Ctrl-D at a prompt. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && error.name === 'ExitPromptError'
}
