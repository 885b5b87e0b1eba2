import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { useMemo } from 'preact/hooks'
import { escapeHtml, highlight } from './highlight.ts'

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // HTML in an answer is shown, not obeyed.
    html: ({ text }) => escapeHtml(text),
    code: ({ text, lang = '' }) =>
      `<pre class="code" tabindex="0"><code>${highlight(text, lang.split(/\s/)[0] ?? '')}</code></pre>`,
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
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />
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
