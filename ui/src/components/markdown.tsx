import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { render } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { CopyButton } from './copy-button.tsx'
import { escapeHtml } from './escape-html.ts'
import { highlight } from './highlight.ts'

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // HTML in an answer is shown, not obeyed.
    html: ({ text }) => escapeHtml(text),
    code: ({ text, lang = '' }) => {
      const language = lang.split(/\s/)[0] ?? ''
      const name = escapeHtml(language)
      return `<pre class="code" tabindex="0" data-language="${name}"><code>${highlight(text, language)}</code></pre>`
    },
    checkbox: ({ checked }) =>
      `<span class="task-box" role="img" aria-label="${checked ? 'done' : 'to do'}">${checked ? '☑' : '☐'}</span> `,
    // The page loads nothing from elsewhere: a picture of another host is a link.
    image: ({ href, text }) =>
      /^data:image\/(png|jpeg|gif|webp);base64,/.test(href)
        ? `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}">`
        : `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
  },
})

/** Markdown as agents write it. Whatever it holds, it runs nothing and loads nothing. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => sanitise(marked.parse(text, { async: false })), [text])
  const place = useRef<HTMLDivElement>(null)
  // Before it is painted: a streamed answer is written anew with every piece.
  useLayoutEffect(() => {
    for (const code of place.current?.querySelectorAll<HTMLElement>('pre.code') ?? []) addCodeHead(code)
  }, [html])
  return <div class="markdown" ref={place} dangerouslySetInnerHTML={{ __html: html }} />
}

/** Puts the language of a code block above it, and a button that copies it. */
function addCodeHead(code: HTMLElement): void {
  const head = document.createElement('div')
  head.className = 'code-head'
  render(
    <>
      <span>{code.dataset.language || 'text'}</span>
      <CopyButton isQuiet text={() => code.textContent ?? ''} label="Copy code" />
    </>,
    head,
  )
  code.before(head)
}

function sanitise(html: string): string {
  return DOMPurify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select'],
    FORBID_ATTR: ['style', 'id', 'name'],
    ADD_ATTR: ['target'],
    ALLOWED_URI_REGEXP: /^(https?:|mailto:|data:image\/(png|jpeg|gif|webp);base64,)/i,
  })
}

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noreferrer noopener')
})
