import { anyOf, REDACTED } from './redacted.ts'

/** Characters of a secret's beginning that are shown: fewer tell too little to hold a piece back. */
const SHOWN_CHARS = 3

/** A text that comes in pieces, as far as it is not settled. */
interface Open {
  /** Its end, which may be the beginning of a secret. */
  readonly tail: string
  /** Characters of it that were shown. */
  readonly shown: number
}

const NOTHING: Open = { tail: '', shown: 0 }

/** Hides secrets in texts that come in pieces: a piece that may be part of one is held back until the next piece tells. */
export class StreamedSecrets {
  readonly #secrets: readonly string[]
  readonly #any: RegExp
  readonly #firstChars: ReadonlySet<string>
  readonly #longest: number
  /** By run, and within it by name. */
  readonly #open = new Map<string, Map<string, Open>>()

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
    this.#any = anyOf(secrets)
    this.#firstChars = new Set(secrets.map((secret) => secret.charAt(0)))
    this.#longest = Math.max(0, ...secrets.map(({ length }) => length))
  }

  /**
   * Returns the characters to show for the next piece of a text, with those that were held back before.
   *
   * @param name of the text within its run
   */
  next(runId: string, name: string, piece: string): string {
    if (this.#longest === 0) return piece
    const before = this.#open.get(runId)?.get(name) ?? NOTHING
    let { shown } = before
    let text = before.tail + piece
    let out = ''
    let from = 0
    for (const { 0: secret, index } of text.matchAll(this.#any)) {
      out += text.slice(Math.max(from, shown), index) + REDACTED
      from = index + secret.length
      shown = 0
    }
    text = text.slice(from)
    const start = this.#openFrom(text)
    const end = Math.max(shown, Math.min(text.length, start + SHOWN_CHARS))
    this.#keep(runId, name, { tail: text.slice(start), shown: end - start })
    return out + text.slice(shown, end)
  }

  /** Forgets what a run that has ended held back. */
  forget(runId: string): void {
    this.#open.delete(runId)
  }

  #keep(runId: string, name: string, open: Open): void {
    const known = this.#open.get(runId)
    if (known) known.set(name, open)
    else if (open.tail !== '') this.#open.set(runId, new Map([[name, open]]))
  }

  /** Offset of the end of a text that is the beginning of a secret; its length where there is none. */
  #openFrom(text: string): number {
    for (let start = Math.max(0, text.length - this.#longest + 1); start < text.length; start++) {
      if (!this.#firstChars.has(text.charAt(start))) continue
      const end = text.slice(start)
      if (this.#secrets.some((secret) => secret.startsWith(end))) return start
    }
    return text.length
  }
}
