import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { QuestionNews, QuestionRequest } from '../../../src/wire/question.ts'
import { useLive } from '../live.ts'
import { authorization } from '../token.ts'

/** True where the page may put questions to the terminal of `agent-host dev`. */
export const AsksAtTerminal = createContext(false)

interface AskButtonProps {
  readonly label: string
  readonly request: QuestionRequest
  readonly isDisabled?: boolean
  readonly onState?: (state: QuestionNews['state']) => void
}

/** Button that has the terminal ask, and says how the question ends. Where nobody can be asked it is not there. */
export function AskButton({ label, request, isDisabled = false, onState }: AskButtonProps) {
  const isThere = useContext(AsksAtTerminal)
  const [asked, setAsked] = useState<QuestionNews>()
  const [problem, setProblem] = useState('')
  /** By question: news may be here before the answer that names it. */
  const [all, setAll] = useState<Readonly<Record<string, QuestionNews>>>({})
  useLive('questions', (news) => setAll((before) => ({ ...before, [news.id]: news })))
  const news = asked && (all[asked.id] ?? asked)
  useEffect(() => news && onState?.(news.state), [news?.state])
  if (!isThere) return null
  const isOpen = news?.state === 'open' || news?.state === 'changed'
  const ask = () => {
    setProblem('')
    setAsked(undefined)
    askAtTerminal(request).then(setAsked, (failure: Error) => setProblem(failure.message))
  }
  return (
    <span class="ask-terminal">
      <button type="button" class="button" disabled={isDisabled || isOpen} onClick={ask}>
        {label}
      </button>
      <span class="muted" role="status">
        {problem || (news?.state === 'open' ? 'Type y in the terminal of agent-host dev.' : news?.detail)}
      </span>
    </span>
  )
}

/** @throws Error that says why it cannot be asked */
async function askAtTerminal(request: QuestionRequest): Promise<QuestionNews> {
  const response = await fetch('api/ui/questions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(request),
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.detail)
  return body
}
