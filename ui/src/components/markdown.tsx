import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { Boundary } from './boundary.tsx'
import { CopyButton } from './copy-button.tsx'
import { highlight } from './highlight.ts'
import { parseJson } from './parse-json.ts'

/** Addresses that a link may have. */
const LINKED = /^(https?:|mailto:|data:image\/(png|jpeg|gif|webp);base64,)/i
const EMBEDDED = /^data:image\/(png|jpeg|gif|webp);base64,/
const ENTITY = /&(?:#\d+|#x[\da-f]+|[a-z][a-z\d]*);/gi

/** Markdown as agents write it. Its tokens become elements that are named here, and HTML in it is text: it runs and loads nothing. */
export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown">
      {/* Blocks within a thousand others are more than a stack holds. */}
      <Boundary of={text} instead={() => <p class="pre">{cleanText(text)}</p>}>
        <Blocks text={text} />
      </Boundary>
    </div>
  )
}

function Blocks({ text }: { text: string }) {
  return <>{useMemo(() => showText(cleanText(text)), [text])}</>
}

/** JSON of several lines at the end of a text, as agents hand on what a tool gave them, has no headings and lists. */
function showText(text: string): ComponentChildren {
  const at = text.search(/\{\s*"|\[\s*[{"]/)
  const json = at === -1 ? '' : text.slice(at)
  const value = json.includes('\n') ? parseJson(json) : json
  const written = value === json ? text : text.slice(0, at)
  return (
    <>
      {show(new Lexer({ gfm: true, breaks: true }).lex(written))}
      {value !== json && <CodeBlock text={JSON.stringify(value, null, 2)} language="json" />}
    </>
  )
}

function show(tokens: readonly Token[] = []): ComponentChildren {
  return (tokens as readonly MarkedToken[]).map(showToken)
}

function showToken(token: MarkedToken): ComponentChildren {
  switch (token.type) {
    case 'paragraph':
      return <p>{show(token.tokens)}</p>
    case 'text':
      return token.tokens ? show(token.tokens) : decode(token.text)
    case 'escape':
    case 'html':
      return token.text
    case 'heading': {
      const Heading = `h${token.depth}` as 'h1'
      return <Heading>{show(token.tokens)}</Heading>
    }
    case 'list':
      return <List {...token} />
    case 'code':
      return <CodeBlock text={token.text} language={token.lang?.split(/\s/)[0] ?? ''} />
    case 'table':
      return <Table {...token} />
    case 'blockquote':
      return <blockquote>{show(token.tokens)}</blockquote>
    case 'strong':
    case 'em':
    case 'del': {
      const Mark = token.type
      return <Mark>{show(token.tokens)}</Mark>
    }
    case 'codespan':
      return <code>{token.text}</code>
    case 'link':
      return <Link href={token.href}>{show(token.tokens)}</Link>
    case 'image':
      // The page loads nothing from elsewhere: a picture of another host is a link.
      if (EMBEDDED.test(token.href)) return <img src={token.href} alt={token.text} />
      return <Link href={token.href}>{token.text || token.href}</Link>
    case 'checkbox':
      return <TaskBox isDone={token.checked} />
    case 'br':
      return <br />
    case 'hr':
      return <hr />
    default:
      return null
  }
}

function List({ ordered, start, items }: Tokens.List) {
  const children = items.map(({ tokens }) => <li>{show(tokens)}</li>)
  return ordered ? <ol start={start === '' ? 1 : start}>{children}</ol> : <ul>{children}</ul>
}

function TaskBox({ isDone }: { isDone: boolean }) {
  return (
    <>
      <span class="task-box" role="img" aria-label={isDone ? 'done' : 'to do'}>
        {isDone ? '☑' : '☐'}
      </span>{' '}
    </>
  )
}

/** A block of code, with its language above it and a button that copies it. */
function CodeBlock({ text, language }: { text: string; language: string }) {
  const html = useMemo(() => highlight(text, language), [text, language])
  return (
    <>
      <div class="code-head">
        <span>{language || 'text'}</span>
        <CopyButton isQuiet text={() => text} label="Copy code" />
      </div>
      <pre class="code" tabIndex={0}>
        <code dangerouslySetInnerHTML={{ __html: html }} />
      </pre>
    </>
  )
}

function Table({ header, rows }: Tokens.Table) {
  const cell = ({ tokens, header: isHeader, align }: Tokens.TableCell) => {
    const Cell = isHeader ? 'th' : 'td'
    return <Cell align={align ?? undefined}>{show(tokens)}</Cell>
  }
  return (
    <table>
      <thead>
        <tr>{header.map(cell)}</tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>{row.map(cell)}</tr>
        ))}
      </tbody>
    </table>
  )
}

function Link({ href, children }: { href: string; children?: ComponentChildren }): JSX.Element {
  if (!LINKED.test(href)) return <>{children}</>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  )
}

/** Text with its character references as characters. */
function decode(text: string): string {
  return text.replace(ENTITY, (entity) => {
    const place = document.createElement('textarea')
    place.innerHTML = entity
    return cleanText(place.value)
  })
}
