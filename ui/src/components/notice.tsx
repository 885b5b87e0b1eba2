import type { ComponentChildren } from 'preact'
import { cleanText } from '../../../src/wire/clean-text.ts'

interface NoticeProps {
  readonly kind: 'info' | 'warn' | 'bad'
  readonly title: string
  readonly children?: ComponentChildren
}

export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <strong>{cleanText(title)}</strong>
      {children && <div>{typeof children === 'string' ? cleanText(children) : children}</div>}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  /** It is all that the screen has: its title is the title of the page. */
  readonly isPage?: boolean
  readonly children?: ComponentChildren
}

/** Notice for an empty place: the next step. */
export function Empty({ title, isPage = false, children }: EmptyProps) {
  return (
    <div class="empty">
      {isPage ? <h1 class="empty-title">{title}</h1> : <p class="empty-title">{title}</p>}
      {children && <div class="empty-text">{children}</div>}
    </div>
  )
}
