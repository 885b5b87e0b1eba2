import { cleanText } from '../clean-text.ts'

const RESET = '\u001b[0m'
const BOLD = '\u001b[1m'
const DIM = '\u001b[2m'
const CYAN = '\u001b[36m'

/** Start of a line that may still become a heading, a list or a fence. */
const UNCLEAR_START = /^(\s{0,3}(#{1,6}|`{1,2}|[-*+])?)$/

/**
 * Markdown as it streams in -> text for a terminal: headings and bold text bold, code in colour, bullets as dots. Text is
 * held back only until its meaning is clear, a few characters at most.
 */
export class MarkdownStream {
  #held = ''
  #isLineStart = true
  #isFenced = false
  #isHeading = false
  #isBold = false
  #isCode = false

  /** @returns the text that can be shown now */
  push(text: string): string {
    this.#held += cleanText(text)
    let shown = ''
    for (let next = this.#take(); next !== undefined; next = this.#take()) shown += next
    return shown
  }

  /** @returns the rest, and the end of every style */
  end(): string {
    const rest = this.#held
    this.#held = ''
    const isPlain = !(this.#isBold || this.#isCode || this.#isHeading || this.#isFenced)
    return isPlain ? rest : rest + RESET
  }

  #take(): string | undefined {
    if (this.#held === '') return undefined
    if (this.#isLineStart) return this.#takeStart()
    if (this.#held.startsWith('\n')) return this.#endLine()
    if (this.#isFenced) return this.#takeUntil(/\n/)
    if (this.#held === '*') return undefined
    if (!this.#isCode && this.#held.startsWith('**')) return this.#toggleBold()
    if (this.#held.startsWith('`')) return this.#toggleCode()
    return this.#takeUntil(this.#isCode ? /[`\n]/ : /[*`\n]/)
  }

  #takeStart(): string | undefined {
    if (UNCLEAR_START.test(this.#held)) return undefined
    this.#isLineStart = false
    const [fence] = /^\s{0,3}```[^\n]*/.exec(this.#held) ?? []
    if (fence !== undefined) {
      if (!this.#held.includes('\n')) {
        this.#isLineStart = true
        return undefined
      }
      this.#held = this.#held.slice(fence.length)
      this.#isFenced = !this.#isFenced
      return DIM + fence + RESET + (this.#isFenced ? CYAN : '')
    }
    if (this.#isFenced) return ''
    const [heading] = /^#{1,6} /.exec(this.#held) ?? []
    if (heading !== undefined) {
      this.#held = this.#held.slice(heading.length)
      this.#isHeading = true
      return this.#style()
    }
    const [bullet, indent = ''] = /^(\s*)[-*+] /.exec(this.#held) ?? []
    if (bullet === undefined) return ''
    this.#held = this.#held.slice(bullet.length)
    return `${indent}• `
  }

  #endLine(): string {
    this.#held = this.#held.slice(1)
    this.#isLineStart = true
    if (!this.#isHeading) return '\n'
    this.#isHeading = false
    return `${RESET}\n${this.#style()}`
  }

  #toggleBold(): string {
    this.#held = this.#held.slice(2)
    this.#isBold = !this.#isBold
    return this.#style()
  }

  #toggleCode(): string {
    this.#held = this.#held.slice(1)
    this.#isCode = !this.#isCode
    return this.#style()
  }

  #style(): string {
    return RESET + (this.#isBold || this.#isHeading ? BOLD : '') + (this.#isCode ? CYAN : '')
  }

  #takeUntil(stop: RegExp): string {
    const found = this.#held.slice(1).search(stop)
    const length = found < 0 ? this.#held.length : found + 1
    const taken = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return taken
  }
}
