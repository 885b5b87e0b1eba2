import type { LLMPart } from 'agent-host'

const OPEN = '<think>'
const CLOSE = '</think>'

/** Thoughts that open models write between tags at the beginning of a text, told apart from the answer. */
export class ThoughtTags {
  #place: 'beginning' | 'thoughts' | 'gap' | 'answer' = 'beginning'
  /** Text that may be half a tag. */
  #held = ''

  /** The parts that a piece of text is, as far as it is known. */
  take(piece: string): LLMPart[] {
    const text = this.#held + piece
    this.#held = ''
    if (this.#place === 'answer') return toParts('text', text)
    if (this.#place === 'beginning') return this.#begin(text)
    return this.#place === 'thoughts' ? this.#think(text) : this.#skipGap(text)
  }

  /** The parts that are left at the end. */
  end(): LLMPart[] {
    const held = this.#held
    this.#held = ''
    return toParts(this.#place === 'thoughts' ? 'reasoning' : 'text', held)
  }

  #begin(text: string): LLMPart[] {
    const begun = text.trimStart()
    if (begun.startsWith(OPEN)) {
      this.#place = 'thoughts'
      return this.#think(begun.slice(OPEN.length))
    }
    if (OPEN.startsWith(begun)) {
      this.#held = text
      return []
    }
    this.#place = 'answer'
    return toParts('text', text)
  }

  #think(text: string): LLMPart[] {
    const end = text.indexOf(CLOSE)
    if (end >= 0) {
      this.#place = 'gap'
      return [...toParts('reasoning', text.slice(0, end)), ...this.#skipGap(text.slice(end + CLOSE.length))]
    }
    const half = [...CLOSE].findIndex((_, index) => text.endsWith(CLOSE.slice(0, CLOSE.length - index)))
    const sure = half < 0 ? text.length : text.length - CLOSE.length + half
    this.#held = text.slice(sure)
    return toParts('reasoning', text.slice(0, sure))
  }

  /** Blank lines between thoughts and answer belong to neither. */
  #skipGap(text: string): LLMPart[] {
    const answer = text.trimStart()
    if (answer !== '') this.#place = 'answer'
    return toParts('text', answer)
  }
}

function toParts(type: 'text' | 'reasoning', text: string): LLMPart[] {
  return text === '' ? [] : [{ type, text }]
}
