import { type Ledger, sortResults } from './bank.ts'

/** What the user may say; each with the calls that the model then makes. */
export const COMMANDS = ['say', 'pay', 'both', 'look', 'ask', 'mix', 'child', 'fail'] as const
export type Command = (typeof COMMANDS)[number]
export type Decision = 'approve' | 'reject' | 'edit'

/** Call that waits, and how it was decided. */
export interface ModelCall {
  readonly name: 'pay' | 'look' | 'size' | 'clerk'
  readonly n: number
  /** Undefined while it waits. */
  decision?: Decision | 'expire' | undefined
}

/** Edited payments are of this much more. */
export const EDITED = 1000
/** Answer to every question. */
export const SIZE = 42
/** Output of the client's tool. */
export const seen = (n: number) => `seen ${n}`

const CALLS: Readonly<Record<Command, (n: number) => ModelCall[]>> = {
  say: () => [],
  fail: () => [],
  pay: (n) => [{ name: 'pay', n }],
  both: (n) => [
    { name: 'pay', n },
    { name: 'pay', n: n + 1 },
  ],
  look: (n) => [{ name: 'look', n }],
  ask: (n) => [{ name: 'size', n }],
  mix: (n) => [
    { name: 'look', n },
    { name: 'pay', n: n + 1 },
  ],
  child: (n) => [{ name: 'clerk', n }],
}

/** Conversation as the contract has it: the histories that its model is sent, and what its tools do. */
export class ConversationModel {
  /** All histories so far. */
  readonly asked: (readonly string[])[] = []
  /** All executed calls so far. */
  readonly did: string[] = []
  /** Calls of the last step that wait, and those that are answered beside them; empty while the conversation does not wait. */
  calls: ModelCall[] = []
  /** How what waits was closed, where it was: only a message goes on with it. */
  closed: 'cancelled' | 'expired' | undefined
  readonly #to: string
  #lines: string[] = []
  #number = 0

  constructor(to: string) {
    this.#to = to
  }

  /** Calls that can be answered. */
  get open(): readonly ModelCall[] {
    return this.closed ? [] : this.calls.filter(({ decision }) => decision === undefined)
  }

  /** Text of the next message. */
  textOf(command: Command | 'hang'): string {
    return `${this.#to} ${command} ${this.#number + 1}`
  }

  /** Begins a new conversation: nothing of the one before is in it. */
  begin(): void {
    this.#lines = []
    this.calls = []
    this.closed = undefined
  }

  /** The user says something; what still waits is superseded. */
  say(command: Command | 'hang'): void {
    this.#lines.push(...this.calls.map((call) => this.#close(call)), `user: ${this.textOf(command)}`)
    const n = this.#number + 1
    this.#number += 2
    this.closed = undefined
    this.calls = []
    this.#ask()
    if (command === 'fail' || command === 'hang') this.#give(n, command)
    else this.#call(CALLS[command](n), n)
  }

  #call(calls: ModelCall[], n: number): void {
    this.calls = calls
    if (calls.length > 0) this.#lines.push(`model: ${this.calls.map(nameOf).join(', ')}`)
    else this.#lines.push(`model: done ${n}`)
  }

  /** Answers one of the open calls; the last answer continues. */
  answer(call: ModelCall, decision: Decision | 'expire'): void {
    call.decision = decision
    if (this.calls.every((each) => each.decision !== undefined)) this.#goOn()
  }

  /** The time of what waits for a person is over. Where no person has decided, and no client is to answer, only a message goes on. */
  expire(): void {
    const { open } = this
    const isWaitedFor = open.some(({ name }) => name === 'look')
    const isDecided = this.calls.some(({ name, decision }) => name !== 'look' && decision !== undefined)
    if (!isWaitedFor && !isDecided) this.closed = 'expired'
    else for (const call of open) if (call.name !== 'look') this.answer(call, 'expire')
  }

  /** The client sends its outputs again: the model is asked the same in another branch. */
  askAgain(): void {
    this.asked.push(this.asked.at(-1) ?? [])
  }

  /**
   * Takes over what was done where a server was killed: the call at most once, and nothing else.
   *
   * @throws Error for anything else in the ledger
   */
  adopt({ did, asked }: Ledger, { n }: ModelCall): void {
    const more = did.slice(this.did.length)
    if (more.length > 1 || more.some((each) => !each.includes(` ${n}`))) throw new Error(`Done: ${more.join(', ')}`)
    this.did.push(...more)
    this.asked.push(...asked.slice(this.asked.length))
    this.begin()
  }

  #goOn(): void {
    const results = this.calls.map((call) => `${nameOf(call)} -> ${this.#carryOut(call)}`)
    const n = this.calls[0]?.n
    this.#lines.push(...results)
    this.calls = []
    this.#ask()
    this.#lines.push(`model: done ${n}`)
  }

  /** Outputs that the client has sent stay; nothing else was executed. */
  #close(call: ModelCall): string {
    const isSent = call.name === 'look' && call.decision !== undefined
    const reason = call.decision === 'expire' ? 'expired' : (this.closed ?? 'superseded')
    return `${nameOf(call)} -> ${isSent ? seen(call.n) : reason}`
  }

  #carryOut({ name, n, decision }: ModelCall): string {
    if (name === 'look') return seen(n)
    if (name === 'clerk') {
      if (decision === 'approve' || decision === 'edit') this.did.push(paid(n, decision))
      return `done ${n}`
    }
    const did = name === 'size' ? `size ${n} ${SIZE}` : paid(n, decision)
    if (decision === 'expire') return 'expired'
    if (decision === 'reject' && name !== 'size') return 'rejected'
    this.did.push(did)
    return decision === 'edit' && name === 'pay' ? `edited, ${did}` : did
  }

  /** A tool acts; then the model fails, or another call of a tool is broken off. */
  #give(n: number, command: 'fail' | 'hang'): void {
    this.did.push(`give ${n}`)
    this.#lines.push(`model: give ${n}`, `give ${n} -> give ${n}`)
    this.#ask()
    if (command === 'fail') return
    this.did.push(`wait ${n + 1}`)
    this.#lines.push(`model: wait ${n + 1}`, `wait ${n + 1} -> unknown`)
  }

  #ask(): void {
    this.asked.push(sortResults(this.#lines))
  }
}

function nameOf({ name, n }: ModelCall): string {
  return `${name} ${n}`
}

function paid(n: number, decision: ModelCall['decision']): string {
  return `pay ${decision === 'edit' ? n + EDITED : n}`
}
