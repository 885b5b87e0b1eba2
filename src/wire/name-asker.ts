/** Agent whose call waits, with those that called it, the nearest first. */
export interface NamedAsker {
  readonly agent: string
  readonly askedBy: readonly string[]
}

/** Names the agent that makes a call, and on whose behalf: `billing (asked by desk)`. */
export function nameAsker({ agent, askedBy }: NamedAsker): string {
  return askedBy.length === 0 ? agent : `${agent} (${askedBy.map((caller) => `asked by ${caller}`).join(', ')})`
}
