import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy-button.tsx'
import { Markdown } from './markdown.tsx'
import type { ModelMessage, ModelToolCall } from './model-message.ts'
import { Pictures } from './pictures.tsx'

/** Longer prompts are folded, as are all of the system. */
const MAX_OPEN_CHARS = 1500

interface BubbleProps {
  readonly message: ModelMessage
  readonly isAnswer?: boolean
}

/** Message of a conversation with a model. */
export function Bubble({ message, isAnswer = false }: BubbleProps) {
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
  if (role === 'system' || content.length > MAX_OPEN_CHARS) {
    return (
      <FoldedBubble name={role} text={content}>
        {body}
      </FoldedBubble>
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

interface FoldedBubbleProps {
  readonly name: string
  readonly text: string
  readonly children: ComponentChildren
}

export function FoldedBubble({ name, text, children }: FoldedBubbleProps) {
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
