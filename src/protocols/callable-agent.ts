/** Agent, or one of its entry points, that other agents can call. */
export interface CallableAgent {
  /** `<agent>` or `<agent>/<entry point>`. */
  readonly name: string
  readonly description: string
  /** JSON Schema (`type: object`) of its arguments; absent for an agent that takes a message. */
  readonly input?: Readonly<Record<string, unknown>>
}

/** Returns true for a name with patterns, which may mean no agent at all. */
export function isGlob(name: string): boolean {
  return name.includes('*')
}

/** Tells whether a name fits one of these, in which `*` stands for any characters. An agent fits with its entry points. */
export function isCalled({ name }: Pick<CallableAgent, 'name'>, globs: readonly string[]): boolean {
  const [agent = name] = name.split('/')
  return globs.some((glob) => fits(name, glob) || fits(agent, glob))
}

function fits(name: string, glob: string): boolean {
  const pattern = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(name)
}
