import { useState } from 'preact/hooks'
import { Notice } from '../components/notice.tsx'
import { type Column, isVaried } from '../responses/column.ts'
import type { Seed } from '../responses/setup.ts'
import { columnTitle } from './column-title.ts'
import { Composer } from './composer.tsx'
import { FirstQuestions } from './first-questions.tsx'
import { useFollowEnd } from './follow-end.ts'
import type { AgentChoice } from './play-query.ts'
import { SeedView } from './seed-view.tsx'
import type { Thread } from './threads.ts'
import { TurnView } from './turn-view.tsx'
import type { Upload } from './uploads.ts'
import { useConversation } from './use-conversation.ts'

interface ConversationProps {
  readonly agent: AgentChoice
  readonly columns: readonly Column[]
  readonly seed: Seed | undefined
  readonly hasKey: boolean
  readonly thread: Thread | undefined
  /** Put into the composer at first. */
  readonly draft: string
  /** Media types of the files that every column takes. */
  readonly accepted: readonly string[]
}

/** One thread, with one agent or with several side by side. */
export function Conversation({ agent, columns, seed, hasKey, thread, draft: firstDraft, accepted }: ConversationProps) {
  const [draft, setDraft] = useState(firstDraft)
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  /** Turns before the question that is edited; all when none is. */
  const [kept, setKept] = useState<number>()
  const { turns, error, isRunning, send, retry, stop, onStatus, onContinue } = useConversation(columns, thread, seed)
  const [log, setLog] = useState<HTMLDivElement | null>(null)
  useFollowEnd(
    log,
    turns
      .at(-1)
      ?.answers.map(({ responseIds }) => responseIds[0])
      .join(),
    columns.length > 1,
  )
  const sendDraft = async (text = draft) => {
    if (!(await send(text.trim(), uploads, kept))) return setDraft(text)
    setKept(undefined)
    setDraft('')
    setUploads([])
  }
  /** A question with a gap is filled in first. */
  const choose = (question: string) => (question.includes('…') ? setDraft(question) : void sendDraft(question))
  const edit = (index: number) => {
    setKept(index)
    setDraft(turns[index]?.question ?? '')
  }
  return (
    <div class="chat" data-columns={columns.length}>
      <div class="chat-log" ref={setLog} role="log" aria-label="Conversation" tabIndex={0}>
        {seed && <SeedView seed={seed} />}
        {turns.length === 0 && !seed && <FirstQuestions agent={agent} columns={columns} onChoose={choose} />}
        {turns.map((turn, index) => (
          <TurnView
            key={turn.answers.map(({ responseIds }) => responseIds[0]).join()}
            turn={turn}
            columns={columns}
            onStatus={onStatus}
            onContinue={onContinue}
            onRetry={() => void retry(index)}
            onEdit={() => edit(index)}
          />
        ))}
        {error && <Notice kind="bad" title={error} />}
      </div>
      <Composer
        models={[...new Set(columns.map(({ model }) => model))].join(' and ')}
        title={columns.map(columnTitle).join(' and ')}
        codeColumn={columns.find(isVaried) ?? columns[0] ?? { model: '' }}
        draft={draft}
        uploads={uploads}
        accepted={accepted}
        hasKey={hasKey}
        isRunning={isRunning}
        isEditing={kept !== undefined}
        onDraft={setDraft}
        onUploads={setUploads}
        onSend={() => void sendDraft()}
        onStop={stop}
      />
    </div>
  )
}
