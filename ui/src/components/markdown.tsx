import DOMPurify from 'dompurify'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { Marked } from 'marked'
import { useMemo } from 'preact/hooks'

for (const [name, language] of Object.entries({ bash, javascript, json, python, sql, typescript, yaml })) {
  hljs.registerLanguage(name, language)
}

const MAX_COLOURED = 20_000

/** Code with colours, as HTML; plain where the language is not known. */
export function colourCode(code: string, language: string): string {
  if (!hljs.getLanguage(language) || code.length > MAX_COLOURED) return escape(code)
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // HTML in an answer is shown, not obeyed.
    html: ({ text }) => escape(text),
    code: ({ text, lang = '' }) =>
      `<pre class="code" tabindex="0"><code>${colourCode(text, lang.split(/\s/)[0] ?? '')}</code></pre>`,
    // The page loads nothing from elsewhere: a picture of another host is a link.
    image: ({ href, text }) =>
      /^data:image\/(png|jpeg|gif|webp);base64,/.test(href)
        ? `<img src="${escape(href)}" alt="${escape(text)}">`
        : `<a href="${escape(href)}">${escape(text || href)}</a>`,
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

function escape(text: string): string {
  const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (mark) => marks[mark] ?? mark)
}
