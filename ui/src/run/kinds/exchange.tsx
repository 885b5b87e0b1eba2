import type { ComponentChildren } from 'preact'
import { CopyButton } from '../../components/copy-button.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { Pictures } from '../../components/pictures.tsx'
import type { ModelExchange, ModelMessage, ModelToolCall } from './model-exchange.ts'

/** Longer prompts are folded, as are all of the system. */
const MAX_OPEN_CHARS = 1500

/** Messages to a model and its answer, as bubbles. */
export function Exchange({ exchange: { messages, answer, reasoning } }: { exchange: ModelExchange }) {
  return (
    <div class="exchange">
      {messages.map((message, index) => (
        <Bubble key={index} message={message} isFolded={message.role === 'system'} />
      ))}
      {reasoning !== '' && (
        <Fold name="reasoning" text={reasoning}>
          <p class="pre">{reasoning}</p>
        </Fold>
      )}
      {(answer.content !== '' || answer.toolCalls.length > 0) && <Bubble message={answer} isAnswer />}
    </div>
  )
}

interface BubbleProps {
  readonly message: ModelMessage
  readonly isFolded?: boolean
  readonly isAnswer?: boolean
}

function Bubble({ message, isFolded = false, isAnswer = false }: BubbleProps) {
  const { role, content, toolCalls, attachments } = message
  const body = (
    <>
      {content !== '' && (role === 'assistant' ? <Markdown text={content} /> : <p class="pre">{content}</p>)}
      <Pictures attachments={attachments} />
      {toolCalls.map((call) => (
        <RequestedCall key={call.id} call={call} />
      ))}
    </>
  )
  if (isFolded || content.length > MAX_OPEN_CHARS) {
    return (
      <Fold name={role} text={content}>
        {body}
      </Fold>
    )
  }
  return (
    <article class={`bubble ${role}`} data-answer={isAnswer}>
      <header>
        <span>{isAnswer ? 'answer' : role}</span>
        {content !== '' && <CopyButton isQuiet text={content} label={`Copy ${role}`} />}
      </header>
      {body}
    </article>
  )
}

function Fold({ name, text, children }: { name: string; text: string; children: ComponentChildren }) {
  return (
    <details class={`bubble ${name}`}>
      <summary>
        <span>{name}</span> <span class="muted">{text.slice(0, 120)}</span>
      </summary>
      {children}
    </details>
  )
}

function RequestedCall({ call: { name, arguments: args } }: { call: ModelToolCall }) {
  return (
    <p class="requested">
      calls <code>{name}</code> <code class="muted">{JSON.stringify(args)}</code>
    </p>
  )
}
