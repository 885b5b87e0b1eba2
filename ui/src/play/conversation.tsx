import { useState } from 'preact/hooks'
import { Empty, Notice } from '../components/notice.tsx'
import { go, href } from '../router.ts'
import type { Answer } from './answer.ts'
import { Composer } from './composer.tsx'
import { askAgent, cancelResponse } from './responses.ts'
import { saveThread, type Thread } from './threads.ts'
import { TurnView } from './turn-view.tsx'

interface ConversationProps {
  readonly model: string
  readonly description: string
  readonly hasKey: boolean
  readonly thread: Thread | undefined
  /** Put into the composer at first. */
  readonly draft: string
}

/** One thread with an agent. */
export function Conversation({ model, description, hasKey, thread, draft: firstDraft }: ConversationProps) {
  const [draft, setDraft] = useState(firstDraft)
  /** Turns before the question that is edited; all when none is. */
  const [kept, setKept] = useState<number>()
  const [status, setStatus] = useState<Readonly<Record<string, Answer['status']>>>({})
  const [error, setError] = useState('')
  const turns = thread?.turns ?? []
  const last = turns.at(-1)
  const isRunning = last !== undefined && (status[last.responseId] ?? 'running') === 'running'
  const send = async (question: string, count = kept ?? turns.length) => {
    const before = turns.slice(0, count)
    setError('')
    setKept(undefined)
    try {
      const responseId = await askAgent({ model, input: question, previousId: before.at(-1)?.responseId })
      const id = thread?.id ?? responseId
      saveThread({ id, model, updatedAt: Date.now() / 1000, turns: [...before, { responseId, question }] })
      setDraft('')
      if (!thread) openThread(model, id)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  const stop = () => last && cancelResponse(last.responseId).catch((failure: Error) => setError(failure.message))
  return (
    <div class="chat">
      <div class="chat-log" role="log" aria-label="Conversation" tabIndex={0}>
        {turns.length === 0 && (
          <Empty title={`Ask ${model}`}>
            {description || 'Write a message. The answer is stored, and goes on when you leave.'}
          </Empty>
        )}
        {turns.map((turn, index) => (
          <TurnView
            key={turn.responseId}
            turn={turn}
            isLast={index === turns.length - 1}
            onStatus={(id, next) => setStatus((before) => ({ ...before, [id]: next }))}
            onRetry={() => void send(turn.question, index)}
            onEdit={() => {
              setKept(index)
              setDraft(turn.question)
            }}
          />
        ))}
        {error && <Notice kind="bad" title={error} />}
      </div>
      <Composer
        model={model}
        draft={draft}
        hasKey={hasKey}
        isRunning={isRunning}
        isEditing={kept !== undefined}
        onDraft={setDraft}
        onSend={() => void send(draft.trim())}
        onStop={stop}
      />
    </div>
  )
}

/** The address of a thread, without a new step back: the empty playground was none. */
function openThread(model: string, thread: string): void {
  const [agent = '', entry] = model.split('/')
  go(href(['play', agent], { entry, thread }), { replace: true })
}
