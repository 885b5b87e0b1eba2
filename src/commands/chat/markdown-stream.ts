import { cleanText } from '../../wire/clean-text.ts'

const RESET = '\u001b[0m'
const BOLD = '\u001b[1m'
const DIM = '\u001b[2m'
const ITALIC = '\u001b[3m'
const CYAN = '\u001b[36m'

/** Start of a line that may still become a heading, a list or a fence. */
const UNCLEAR_START = /^(\s{0,3}(#{1,6}|`{1,2}|[-*+])?)$/
/** Spans within a line, each at the start of a text. What has no end in its line, such as `**kwargs`, is none. */
const SPANS = [
  { pattern: /^(`+)([^\n]*?[^`\n])\1(?!`)/, style: CYAN, isCode: true },
  { pattern: /^(\*\*)(?=[^\s*])([^\n]*?[^\s*])\1(?!\*)/, style: BOLD, isCode: false },
  { pattern: /^(\*)(?=[^\s*])([^\n*]*?[^\s*])\1(?!\*)/, style: ITALIC, isCode: false },
] as const

/**
 * Markdown as it streams in -> text for a terminal: headings and bold text bold, emphasis in italics, code in colour, bullets as
 * dots. Text is held back until its meaning is clear: that of a span until it ends, or its line does.
 */
export class MarkdownStream {
  #held = ''
  /** Last character that was taken from this line. */
  #before = ''
  #isLineStart = true
  #isFenced = false
  #isHeading = false
  #isEnding = false

  /** @returns the text that can be shown now */
  push(text: string): string {
    this.#held += cleanText(text)
    let shown = ''
    for (let next = this.#take(); next !== undefined; next = this.#take()) shown += next
    return shown
  }

  /** @returns the rest, and the end of every style */
  end(): string {
    this.#isEnding = true
    return this.push('') + (this.#isHeading || this.#isFenced ? RESET : '')
  }

  #take(): string | undefined {
    if (this.#held === '') return undefined
    if (this.#isLineStart) return this.#takeStart()
    if (this.#held.startsWith('\n')) return this.#endLine()
    if (this.#isFenced) return this.#cut(/^[^\n]+/.exec(this.#held)?.[0] ?? '')
    const plain = /^[^`*\n]+/.exec(this.#held)?.[0]
    return plain === undefined ? this.#takeMark() : this.#cut(plain)
  }

  #takeStart(): string | undefined {
    const isWhole = this.#held.includes('\n') || this.#isEnding
    if (UNCLEAR_START.test(this.#held) && !this.#isEnding) return undefined
    const [fence] = /^\s{0,3}```[^\n]*/.exec(this.#held) ?? []
    if (fence !== undefined && !isWhole) return undefined
    this.#isLineStart = false
    if (fence !== undefined) return this.#takeFence(fence)
    if (this.#isFenced) return ''
    const [heading] = /^#{1,6} /.exec(this.#held) ?? []
    if (heading !== undefined) {
      this.#cut(heading)
      this.#isHeading = true
      return RESET + BOLD
    }
    const [bullet, indent = ''] = /^(\s*)[-*+] /.exec(this.#held) ?? []
    if (bullet === undefined) return ''
    this.#cut(bullet)
    return `${indent}• `
  }

  #takeFence(fence: string): string {
    this.#cut(fence)
    this.#isFenced = !this.#isFenced
    return DIM + fence + RESET + (this.#isFenced ? CYAN : '')
  }

  /** A span that is whole, or a mark that is none: that is clear when something follows the span, or the line ends. */
  #takeMark(): string | undefined {
    const isWhole = this.#held.includes('\n') || this.#isEnding
    const span = findSpan(this.#held, this.#before)
    if (span && (isWhole || span.text.length < this.#held.length)) {
      this.#cut(span.text)
      return showSpan(span, this.#isHeading ? BOLD : '')
    }
    if (!isWhole && !isWithinWord(this.#held, this.#before)) return undefined
    return this.#cut(/^(`+|\*+)/.exec(this.#held)?.[0] ?? '')
  }

  #endLine(): string {
    this.#cut('\n')
    this.#before = ''
    this.#isLineStart = true
    if (!this.#isHeading) return '\n'
    this.#isHeading = false
    return `${RESET}\n`
  }

  #cut(text: string): string {
    this.#held = this.#held.slice(text.length)
    this.#before = text.at(-1) ?? ''
    return text
  }
}

interface Span {
  /** With its marks. */
  readonly text: string
  readonly inner: string
  readonly style: string
  readonly isCode: boolean
}

/** @param before the character before the text: a star within a word is multiplication, or part of a name */
function findSpan(text: string, before: string): Span | undefined {
  if (isWithinWord(text, before)) return undefined
  for (const { pattern, style, isCode } of SPANS) {
    const [whole, , inner = ''] = pattern.exec(text) ?? []
    if (whole !== undefined) return { text: whole, inner, style, isCode }
  }
  return undefined
}

function isWithinWord(text: string, before: string): boolean {
  return text.startsWith('*') && /\w/.test(before)
}

/** @param outer styles around the span */
function showSpan({ inner, style, isCode }: Span, outer: string): string {
  const own = outer + style
  return RESET + own + (isCode ? inner : showSpans(inner, own)) + RESET + outer
}

function showSpans(text: string, outer: string): string {
  let shown = ''
  for (let at = 0; at < text.length; ) {
    const span = findSpan(text.slice(at), text[at - 1] ?? '')
    shown += span ? showSpan(span, outer) : text[at]
    at += span ? span.text.length : 1
  }
  return shown
}
