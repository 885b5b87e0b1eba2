import { formatProblem, type Problem } from '../../definition/problem.ts'

/** Refused version of an agent file. */
export interface Refusal {
  /** Relative to the project. */
  readonly file: string
  readonly problems: readonly Problem[]
  /** Id whose last good version stays in service. */
  readonly servedId: string | undefined
}

/** Describes refusals for the log: once for all files that have the same problems, as those that share a broken tool do. */
export function describeRefusals(refusals: readonly Refusal[]): string[] {
  const groups = new Map<string, Refusal[]>()
  for (const refusal of refusals) {
    const key = JSON.stringify(refusal.problems.map(({ message, suggestions }) => [message, suggestions]))
    groups.set(key, [...(groups.get(key) ?? []), refusal])
  }
  return [...groups.values()].map(describeGroup)
}

function describeGroup(group: readonly Refusal[]): string {
  const [{ problems } = { problems: [] }, ...others] = group
  const suggestions = problems.flatMap((problem) => problem.suggestions)
  const also = others.length === 0 ? [] : [`The same in ${others.map(({ file }) => file).join(', ')}.`]
  const served = group.flatMap(({ servedId }) => (servedId === undefined ? [] : [`'${servedId}'`]))
  const stays = served.length === 0 ? [] : [staysInService(served)]
  return [problems.map(formatProblem).join('\n'), ...suggestions, ...also, ...stays].join('\n  ')
}

function staysInService(ids: readonly string[]): string {
  if (ids.length === 1) return `The last good version of ${ids[0]} stays in service.`
  return `The last good versions of ${ids.join(', ')} stay in service.`
}
