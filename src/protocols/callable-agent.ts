import { requireGiven, TEXT } from '../given.ts'

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
  return globs.some((glob) => fitsGlob(name, glob) || fitsGlob(agent, glob))
}

/**
 * Tells whether a name fits a glob, in which `*` stands for any characters. Takes time in proportion to the name.
 *
 * @example
 * ```ts
 * export function ruleFor(tool: string, rules: Record<string, string>): string | undefined {
 *   return Object.entries(rules).find(([glob]) => fitsGlob(tool, glob))?.[1]
 * }
 * ```
 */
export function fitsGlob(name: string, glob: string): boolean {
  requireGiven(TEXT, name, 'name')
  requireGiven(TEXT, glob, 'glob')
  const [first = '', ...inner] = glob.split('*')
  const last = inner.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first)) return false
  let end = first.length
  for (const part of inner) {
    const start = name.indexOf(part, end)
    if (start < 0) return false
    end = start + part.length
  }
  return name.length - last.length >= end && name.endsWith(last)
}
