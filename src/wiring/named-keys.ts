import type { DefinitionSource } from '../definition/definition.ts'
import type { Problem } from '../definition/problem.ts'

/** Key that a trigger or a schedule of an agent names. */
export interface NamedKey {
  readonly key: string
  /** '' for the nameless one. */
  readonly tenant: string
  /** Problem where there is no such key, with its place. */
  readonly problem: Problem
}

/** Finds the keys that the triggers and schedules of an agent name. */
export function findNamedKeys({ definition, problemAt }: DefinitionSource): readonly NamedKey[] {
  return (['trigger', 'schedule'] as const).flatMap((kind) =>
    (definition[`${kind}s`] ?? []).flatMap(({ id, key, tenant = '' }, index) => {
      if (key === undefined) return []
      const message = `${kind} '${id}': ${describeMissing(tenant, key)}. It starts nothing.`
      return [{ key, tenant, problem: problemAt([`${kind}s`, index, 'key'], message, [adviseOn(tenant, key)]) }]
    }),
  )
}

/** Says that a key is not there, or no longer in force. */
export function describeMissing(tenant: string, key: string): string {
  return `the file of keys has no key '${key}'${tenant === '' ? ' without a tenant' : ` of the tenant '${tenant}'`} that is in force`
}

/** Next step for a key that is not there. */
export function adviseOn(tenant: string, key: string): string {
  return `Add it: agent-host keys add ${key}${tenant === '' ? '' : ` --tenant ${tenant}`}`
}
