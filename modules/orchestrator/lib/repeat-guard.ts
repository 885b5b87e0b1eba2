import { type ToolCall, toSortedJson } from 'agent-host'
import { BudgetSpent } from './budget.ts'

type Call = Pick<ToolCall, 'name' | 'arguments'>

/** Notices a model that makes one call again and again and learns nothing new by it. Asking until something changes is fine. */
export class RepeatGuard {
  readonly #maxRepeats: number
  readonly #answers = new Map<string, { text: string; count: number }>()
  /** Results since the last check. A model that calls a tool once needs no comparison. */
  readonly #noted: { readonly call: Call; readonly text: string }[] = []

  constructor(maxRepeats: number) {
    this.#maxRepeats = maxRepeats
  }

  /** @throws BudgetSpent before a call that has brought the same too often */
  check(calls: readonly Call[]): void {
    for (const { call, text } of this.#noted.splice(0)) this.#count(keyOf(call), text)
    if (this.#answers.size === 0) return
    for (const call of calls) {
      const { count = 0 } = this.#answers.get(keyOf(call)) ?? {}
      if (count < this.#maxRepeats) continue
      const times = count === 1 ? 'once' : `${count} times`
      const message = `I stopped, because I was about to use ${call.name} in the same way again, after it had told me the same ${times}.`
      throw new BudgetSpent('repeated_call', message)
    }
  }

  note(call: Call, text: string): void {
    this.#noted.push({ call, text })
  }

  #count(key: string, text: string): void {
    const before = this.#answers.get(key)
    this.#answers.set(key, { text, count: before?.text === text ? before.count + 1 : 1 })
  }
}

function keyOf({ name, arguments: args }: Call): string {
  return `${name} ${toSortedJson(args)}`
}
