import { Type } from 'agent-host'
import { Rule } from './approval-rules.ts'

/** `approval` of a module whose rules know these words, beside the ids of modules that decide. */
export function approvalOf<R extends Type.TSchema, Options extends object>(
  rule: R,
  options: Options,
  about = '',
  words = '',
) {
  return Type.Union([rule, Type.Record(Type.String(), rule)], {
    ...options,
    description: `Calls that a person has to approve: always, never,${words} the id of a module that decides (ApprovalPolicy), or a map from globs of tool names to one of these; the first match wins.${about}`,
  })
}

/** `approval` that is left out for the rules of the tools themselves. */
export function optionalApproval(otherwise: string) {
  return Type.Optional(approvalOf(Rule, {}, ` Default: ${otherwise}`))
}

export const prefix = Type.String({ default: '', description: "Prefix of the tools' names." })

/** In seconds: a timer of Node takes no more. */
export const LONGEST_TIMER = 2_147_483

export const callTimeout = Type.Number({
  minimum: 0.001,
  maximum: LONGEST_TIMER,
  default: 30,
  description: 'Maximum seconds of one call.',
})

/** Choice of some of the tools, or of what else has a name. */
export function chosenNames(things = 'tools') {
  return {
    include: Type.Optional(
      Type.Array(Type.String(), { description: `Names of the ${things} to offer. Default: all.` }),
    ),
    exclude: Type.Array(Type.String(), { default: [], description: `Names of ${things} to hide.` }),
  }
}

/**
 * Returns the chosen things by name.
 *
 * @param what name of one thing, and where they are, for errors
 * @throws Error naming a choice that is not there, or two things with one name
 */
export function chooseByName<T>(
  found: readonly T[],
  { include, exclude }: { readonly include?: readonly string[]; readonly exclude: readonly string[] },
  {
    thing,
    place,
    remove,
    nameOf,
    placeOf,
  }: {
    readonly thing: string
    readonly place: string
    /** Advice: how one of two is taken out. */
    readonly remove: string
    readonly nameOf: (each: T) => string
    readonly placeOf: (each: T) => string
  },
): Map<string, T> {
  const known = found.map(nameOf)
  const unknownName = [...(include ?? []), ...exclude].find((name) => !known.includes(name))
  if (unknownName !== undefined) {
    const title = thing.charAt(0).toUpperCase() + thing.slice(1)
    throw new Error(`There is no ${thing} '${unknownName}' in the ${place}. ${title}s: ${known.join(', ')}.`)
  }
  const named = new Map<string, T>()
  for (const each of found) {
    const name = nameOf(each)
    if (!(include?.includes(name) ?? true) || exclude.includes(name)) continue
    const other = named.get(name)
    if (other) {
      throw new Error(
        `The ${thing} '${name}' is in ${placeOf(other)} and in ${placeOf(each)}: rename or ${remove} one.`,
      )
    }
    named.set(name, each)
  }
  return named
}
