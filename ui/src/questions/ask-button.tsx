import { type ComponentChildren, createContext, h } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { QuestionNews, QuestionRequest } from '../../../src/wire/question.ts'
import { useLive } from '../live.ts'
import { keep, readKept } from '../storage.ts'
import { authorization } from '../token.ts'

interface Questions {
  /** News of the questions at the terminal of `agent-host dev`, by their ids. */
  readonly news: Readonly<Record<string, QuestionNews>>
  /** Notes a question that this page has asked. News of it may have come earlier, and stay. */
  readonly note: (question: QuestionNews) => void
}

/** Undefined where the page may not ask at the terminal. */
const Asked = createContext<Questions | undefined>(undefined)

/** Follows the questions for all buttons within it, also for those that come later. */
export function QuestionsProvider({ isOn, children }: { isOn: boolean; children: ComponentChildren }) {
  const [news, setNews] = useState<Questions['news']>({})
  const note = (question: QuestionNews) => setNews((before) => ({ [question.id]: question, ...before }))
  // The latest follow: those of a process that has ended are gone.
  useLive('ready', () => setNews({}))
  useLive('questions', (next) => setNews((before) => ({ ...before, [next.id]: next })))
  return h(Asked.Provider, { value: isOn ? { news, note } : undefined }, children)
}

type AskedIds = Readonly<Record<string, string>>
/** Ids of the questions that this browser has asked, by their requests: one may still stand in the terminal after a reload. */
const KEPT = 'questions'
const MAX_KEPT = 20

function keepAsked(request: string, id: string): void {
  const others = Object.entries(readKept<AskedIds>(KEPT, {})).filter(([each]) => each !== request)
  keep(KEPT, Object.fromEntries([...others, [request, id]].slice(-MAX_KEPT)))
}

interface AskButtonProps {
  readonly label: string
  readonly request: QuestionRequest
  readonly isDisabled?: boolean
  /** Called with each state after the first one. */
  readonly onState?: (state: QuestionNews['state']) => void
}

/** Button that has the terminal ask, and says how the question ends. Where nobody can be asked it is not there. */
export function AskButton({ label, request, isDisabled = false, onState }: AskButtonProps) {
  const questions = useContext(Asked)
  const key = JSON.stringify(request)
  const [id, setId] = useState<string>()
  const [problem, setProblem] = useState('')
  const news = questions?.news[id ?? readKept<AskedIds>(KEPT, {})[key] ?? '']
  const before = useRef<QuestionNews['state'] | undefined>(undefined)
  useEffect(() => {
    if (news && before.current) onState?.(news.state)
    before.current = news?.state
  }, [news?.state])
  if (!questions) return null
  const isOpen = news?.state === 'open' || news?.state === 'changed'
  const ask = async () => {
    setProblem('')
    try {
      const question = await askAtTerminal(request)
      keepAsked(key, question.id)
      questions.note(question)
      setId(question.id)
    } catch (failure) {
      setProblem((failure as Error).message)
    }
  }
  return (
    <span class="ask-terminal">
      <button type="button" class="button" disabled={isDisabled || isOpen} onClick={() => void ask()}>
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
