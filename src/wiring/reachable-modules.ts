import type { EntryPoint, WiredModule } from './wiring.ts'

/**
 * The modules that an entry point leads to, each after those that it depends on.
 *
 * @param overridden ids of modules whose instances come from elsewhere: nothing that only they depend on is reached
 */
export function reachableModules(
  { handlers }: EntryPoint,
  modules: readonly WiredModule[],
  overridden: ReadonlySet<string> = new Set(),
): readonly WiredModule[] {
  const reached = new Set(Object.values(handlers))
  // Backwards through the order: dependents come after their dependencies.
  for (const { id, links } of [...modules].reverse()) {
    if (!reached.has(id) || overridden.has(id)) continue
    for (const provider of links.flatMap(({ providers }) => providers)) reached.add(provider)
  }
  return modules.filter(({ id }) => reached.has(id) && !overridden.has(id))
}
