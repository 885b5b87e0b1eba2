import { useEffect, useState } from 'preact/hooks'
import { escapeHtml } from './escape-html.ts'

interface CodeProps {
  readonly text: string
  /** `bash`, `yaml`, `json`, `typescript` and the like. */
  readonly language: string
  readonly isNumbered?: boolean
}

/** Code block. Its colours come a moment after its text, since their code is not part of the first paint. */
export function Code({ text, language, isNumbered = false }: CodeProps) {
  const html = useHighlighted(text, language)
  return (
    <pre class={`code ${isNumbered ? 'numbered' : ''}`} tabIndex={0}>
      {isNumbered ? (
        <code dangerouslySetInnerHTML={{ __html: toLines(html ?? escapeHtml(text)) }} />
      ) : html === undefined ? (
        <code>{text}</code>
      ) : (
        <code dangerouslySetInnerHTML={{ __html: html }} />
      )}
    </pre>
  )
}

/** Each line in an element of its own, which has its number and wraps; colours that span lines begin anew in each. */
function toLines(html: string): string {
  const open: string[] = []
  const lines = html
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const begun = open.join('')
      for (const [mark] of line.matchAll(/<span[^>]*>|<\/span>/g)) {
        if (mark === '</span>') open.pop()
        else open.push(mark)
      }
      return `<span class="line">${begun}${line}${'</span>'.repeat(open.length)}</span>`
    })
  return lines.join('')
}

function useHighlighted(text: string, language: string): string | undefined {
  const [html, setHtml] = useState<string>()
  useEffect(() => {
    let isLeft = false
    setHtml(undefined)
    void import('./highlight.ts').then(({ highlight }) => isLeft || setHtml(highlight(text, language)))
    return () => {
      isLeft = true
    }
  }, [text, language])
  return html
}
