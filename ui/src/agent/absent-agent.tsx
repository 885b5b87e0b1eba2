import { useQuery } from '../api.ts'
import { Empty } from '../components/notice.tsx'
import { ProblemText, placeOf } from '../components/problem-text.tsx'
import { useLive } from '../live.ts'
import { href } from '../router.ts'
import { PROBLEM_FIELDS, type Problem } from '../types.ts'

const QUERY = `{ problems { ${PROBLEM_FIELDS} } }`

interface AbsentAgentProps {
  readonly id: string
  /** Error of the query for it. */
  readonly error: string
}

/** An agent that is not in service: the problems of the file of its name, or of all files, as a broken one may not say its id. */
export function AbsentAgent({ id, error }: AbsentAgentProps) {
  const { data, reload } = useQuery<{ problems: readonly Problem[] }>(QUERY)
  useLive('agents', reload)
  if (!data) return null
  const own = data.problems.filter(({ file }) => file !== null && nameOf(file) === id)
  const problems = own.length > 0 ? own : data.problems
  return (
    <Empty isPage title={error}>
      {problems.length === 0 ? 'It may have been renamed or removed.' : introduce(own.length > 0)}
      {problems.map((problem) => (
        <ProblemText key={placeOf(problem) + problem.message} problem={problem} />
      ))}
      <a href={href(['agents'])}>All agents</a>
    </Empty>
  )
}

function introduce(isOwn: boolean): string {
  return isOwn ? 'Its file is not served:' : 'It may be renamed or removed, or the agent of a file that is not served:'
}

/** `support` of `agents/support.yml` */
function nameOf(file: string): string {
  return file.replace(/^.*\/|\.ya?ml$/g, '')
}
