import { useEffect, useState } from 'preact/hooks'

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
      {isNumbered && <LineNumbers count={text.split('\n').length} />}
      {html === undefined ? <code>{text}</code> : <code dangerouslySetInnerHTML={{ __html: html }} />}
    </pre>
  )
}

function LineNumbers({ count }: { count: number }) {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  return (
    <span class="line-numbers" aria-hidden="true">
      {numbers.join('\n')}
    </span>
  )
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
