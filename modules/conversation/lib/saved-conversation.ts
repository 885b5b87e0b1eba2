import type { Message, Run } from 'agent-host'
import type { StoredTurn, TurnLog } from './turn-log.ts'

interface SavedConversationOptions {
  /** Identifies the conversation of a run; undefined for one that is not saved. */
  readonly keyOf: (run: Run) => string | undefined
  readonly openTurns: (key: string) => TurnLog
  /** Maximum number of messages to start with, the latest. */
  readonly maxMessages: number
}

interface Opened {
  readonly turns: TurnLog
  readonly run: Run
}

/** Saved conversation that one run continues. */
export class SavedConversation {
  readonly #options: SavedConversationOptions
  #opened: Opened | undefined
  #isIdentified = false
  #question: Message | undefined
  #earlier: Message[] | undefined
  /** The beginning of this turn, if it is stored: the run before said it, and then waited. */
  #begun: StoredTurn | undefined

  constructor(options: SavedConversationOptions) {
    this.#options = options
  }

  /** True once a call with a run has told whose conversation it is. */
  get isIdentified(): boolean {
    return this.#isIdentified
  }

  /** Returns the messages before those of the request. */
  async read(messages: readonly Message[], run: Run | undefined): Promise<Message[]> {
    this.#question ??= messages.findLast(({ role }) => role === 'user')
    this.#earlier ??= await this.#readEarlier(messages, run)
    this.#open(run)
    return this.#earlier
  }

  /** Saves the question, messages that modules added, and the text that the user has read, in one write. */
  async append(added: readonly Message[], answer: string): Promise<void> {
    if (!this.#opened) return
    const question = this.#question ? [this.#question] : []
    const turn: Message[] = [...question, ...added, { role: 'assistant', content: textOf(this.#begun) + answer }]
    await this.#opened.turns.append(turn, this.#begun?.key, this.#opened.run)
  }

  async remove(run: Run | undefined): Promise<void> {
    this.#earlier = []
    const opened = this.#open(run)
    await opened?.turns.remove(opened.run)
  }

  /** Identifies the conversation by the run, once, since it is the same throughout. */
  #open(run: Run | undefined): Opened | undefined {
    if (this.#isIdentified || !run) return this.#opened
    this.#isIdentified = true
    const key = this.#options.keyOf(run)
    this.#opened = key === undefined ? undefined : { turns: this.#options.openTurns(key), run }
    return this.#opened
  }

  async #readEarlier(messages: readonly Message[], run: Run | undefined): Promise<Message[]> {
    // A client that sends the conversation does not need the saved one. Calls and results of this turn do not count.
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    if (messages.findIndex(({ role }) => role === 'user' || role === 'assistant') !== asked) return []
    const opened = this.#open(run)
    const turns = opened ? await opened.turns.read(opened.run) : []
    const said = saidIn(messages.slice(asked + 1))
    const isBegun = (turn: StoredTurn) => textOf(turn) === said && turn.messages[0]?.content === this.#question?.content
    const begun = said === '' ? -1 : turns.findLastIndex(isBegun)
    if (begun !== -1) [this.#begun] = turns.splice(begun, 1)
    const earlier = turns.flatMap((turn) => turn.messages)
    return latest(earlier, this.#options.maxMessages)
  }
}

function textOf(turn: StoredTurn | undefined): string {
  return turn?.messages.at(-1)?.content ?? ''
}

/** Text that an agent said before it waited for the results in between. */
function saidIn(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => (role === 'assistant' ? content : '')).join('')
}

/** From a question on: an answer without it means little. */
function latest(messages: readonly Message[], count: number): Message[] {
  const shown = messages.slice(-count)
  const first = shown.findIndex(({ role }) => role === 'user')
  return first === -1 ? [] : shown.slice(first)
}
