import type { ComponentChildren } from 'preact'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { CopyButton } from './copy-button.tsx'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'
import type { ModelMessage, ModelToolCall } from './model-message.ts'
import { parseJson } from './parse-json.ts'
import { Pictures } from './pictures.tsx'

/** Longer prompts are folded, as are all of the system. */
const MAX_OPEN_CHARS = 1500
const TITLES: Readonly<Record<string, string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
  reasoning: 'Reasoning',
}

interface BubbleProps {
  readonly message: ModelMessage
  readonly isAnswer?: boolean
  /** Tool whose result the message is. */
  readonly toolName?: string | undefined
}

/** Message of a conversation with a model. */
export function Bubble({ message, isAnswer = false, toolName }: BubbleProps) {
  const { role, content, toolCalls, attachments } = message
  const body = (
    <>
      <Content role={role} content={content} />
      <Pictures attachments={attachments} />
      {toolCalls.map((call) => (
        <RequestedCall key={call.id} call={call} />
      ))}
    </>
  )
  if (role === 'system' || (content.length > MAX_OPEN_CHARS && !isAnswer)) {
    return (
      <FoldedBubble name={role} text={content} toolName={toolName}>
        {body}
      </FoldedBubble>
    )
  }
  return (
    <article class={`bubble ${role}`} data-answer={isAnswer}>
      <header>
        <span>{isAnswer ? 'Answer' : titleOf(role, toolName)}</span>
        {content !== '' && <CopyButton isQuiet text={content} label={`Copy ${isAnswer ? 'answer' : role}`} />}
      </header>
      {body}
    </article>
  )
}

function Content({ role, content }: { role: string; content: string }) {
  if (content === '') return null
  if (role === 'assistant') return <Markdown text={content} />
  const value = role === 'tool' ? parseJson(content) : content
  return typeof value === 'string' ? <p class="pre">{cleanText(value)}</p> : <JsonTree value={value} label="result" />
}

interface FoldedBubbleProps {
  /** Role of who says it, or what it is. */
  readonly name: string
  readonly text: string
  readonly toolName?: string | undefined
  readonly children: ComponentChildren
}

export function FoldedBubble({ name, text, toolName, children }: FoldedBubbleProps) {
  return (
    <details class={`bubble ${name}`}>
      <summary>
        <span>{titleOf(name, toolName)}</span> <span class="muted">{cleanText(text.slice(0, 120))}</span>
      </summary>
      {children}
    </details>
  )
}

function titleOf(role: string, toolName: string | undefined): string {
  const title = TITLES[role] ?? role
  return toolName === undefined ? title : `${title} · ${toolName}`
}

function RequestedCall({ call: { name, arguments: args } }: { call: ModelToolCall }) {
  return (
    <p class="requested">
      calls <code>{cleanText(name)}</code> <code class="muted">{cleanText(JSON.stringify(args))}</code>
    </p>
  )
}
