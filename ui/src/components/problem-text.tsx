import type { Problem } from '../types.ts'

/** `agents/x.yml:3:5` */
export function placeOf({ file, line, column }: Problem): string {
  return [file, line, column].filter((part) => part !== null).join(':')
}

/** Problem of an agent file, with its place and the next step. */
export function ProblemText({ problem }: { problem: Problem }) {
  return (
    <div class="problem-text">
      <code>{placeOf(problem)}</code> {problem.message}
      {problem.suggestions.map((suggestion) => (
        <div key={suggestion} class="muted">
          {suggestion}
        </div>
      ))}
    </div>
  )
}
