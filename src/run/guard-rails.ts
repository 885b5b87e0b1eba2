import { fieldsOf } from '../json.ts'
import { InputGuard, OutputGuard, type Verdict } from '../protocols/guard.ts'
import type { Message } from '../protocols/message.ts'
import type { HostModules } from '../wiring/host-modules.ts'
import type { AgentRun } from './agent-run.ts'
import type { Exchange } from './exchange/exchange.ts'
import type { RunConversation } from './exchange/run-providers.ts'
import { type HeldDecision, type HeldName, makeHeldCall, partHeldTexts, toHeldPending } from './waiting/held-texts.ts'

type GuardIds = Pick<HostModules, 'InputGuard' | 'OutputGuard'>

interface CheckedText {
  readonly text: string
  readonly verdict: Verdict
}

/** Takes the place of an earlier message that a guard does not let pass. */
const WITHHELD = '[withheld]'

/** Text that a verdict needs beside its action. */
const NEEDED: ReadonlyMap<unknown, string> = new Map([
  ['redact', 'text'],
  ['block', 'reply'],
  ['ask', 'reply'],
])

/** Guards of an agent around one run. The host calls them, so that no orchestrator gets around them. */
export class GuardRails {
  readonly #ids: GuardIds
  readonly #exchange: Exchange
  readonly #run: AgentRun

  constructor(ids: GuardIds, exchange: Exchange, run: AgentRun) {
    this.#ids = ids
    this.#exchange = exchange
    this.#run = run
  }

  /**
   * Has the guards inspect the user messages, and leaves the conversation that the agent may see.
   *
   * @param wasAccepted true for a run that goes on after its message had passed all guards
   * @returns false when there is nothing left to handle: the message was blocked, waits for a person, or has its answer
   */
  async admit(conversation: RunConversation, wasAccepted: boolean): Promise<boolean> {
    const { messages, decisions } = partHeldTexts(conversation.getHistory())
    const said = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    const texts = await this.#inspectInput(said, decisions, wasAccepted)
    if (!texts) return false
    conversation.replaceMessages(withUserTexts(messages, texts))
    const answered = decisions.find(({ name, userIndex }) => name === 'send_answer' && userIndex === said.length - 1)
    if (answered) await this.#sendDecided(answered)
    return !answered
  }

  /** Has the guards inspect the answer, and sends what they pass. Text from before the run started to wait is dropped. */
  async release(): Promise<void> {
    const { answer, waiting } = this.#run
    if (!answer.holdsText) return
    const { text } = answer
    if (waiting.hasBegun) answer.dropText()
    else if (text !== '') await this.#inspectOutput(text, this.#ids.OutputGuard)
  }

  /** The texts that pass every guard; undefined when the last one does not. */
  async #inspectInput(
    said: readonly string[],
    decisions: readonly HeldDecision[],
    wasAccepted: boolean,
  ): Promise<readonly string[] | undefined> {
    let texts = said
    for (const id of this.#ids.InputGuard) {
      const verdicts = await this.#checkInput(id, texts)
      const checked = verdicts.map(({ text, verdict }, index) => {
        const decided = decisions.find(
          ({ name, by, userIndex }) => name === 'accept_message' && by === id && userIndex === index,
        )
        return { text, verdict, decided, passed: passedText(text, verdict, decided) }
      })
      const last = checked.at(-1)
      if (last && last.passed === undefined && !wasAccepted) {
        await this.#refuse('accept_message', id, last.text, last.verdict, last.decided)
        return undefined
      }
      texts = checked.map((each) => each.passed ?? (each === last ? each.text : WITHHELD))
    }
    return texts
  }

  async #checkInput(id: string, texts: readonly string[]): Promise<readonly CheckedText[]> {
    const guard = this.#exchange.provideToAgent(id, InputGuard, this.#run.agentId)
    const verdicts = await guard.checkInput(texts, this.#run)
    if (verdicts.length !== texts.length)
      throw new Error(`The guard '${id}' returned ${verdicts.length} verdicts for ${texts.length} texts.`)
    return texts.map((text, index) => ({ text, verdict: requireVerdict(id, verdicts[index]) }))
  }

  async #inspectOutput(answer: string, ids: readonly string[]): Promise<void> {
    let text = answer
    for (const id of ids) {
      const guard = this.#exchange.provideToAgent(id, OutputGuard, this.#run.agentId)
      const verdict = requireVerdict(id, await guard.checkOutput(text, this.#run))
      const passed = passedText(text, verdict)
      if (passed === undefined) return this.#refuse('send_answer', id, text, verdict)
      text = passed
    }
    await this.#run.answer.sendText(text)
  }

  /** Sends the answer that a person approved, once the guards behind the one that held it let it pass. */
  async #sendDecided({ by, text, reply }: HeldDecision): Promise<void> {
    if (text === undefined) return this.#reply(reply)
    const { OutputGuard: ids } = this.#ids
    await this.#inspectOutput(text, ids.slice(ids.indexOf(by) + 1))
  }

  /** Blocks a text, or holds it for a person. */
  async #refuse(name: HeldName, by: string, text: string, verdict: Verdict, decided?: HeldDecision): Promise<void> {
    if (decided) return this.#reply(decided.reply)
    if (verdict.action !== 'ask' && verdict.action !== 'block') return
    const { reason, reply } = verdict
    if (verdict.action === 'block') return this.#reply(reply)
    const { answer, waiting, agentVersion } = this.#run
    answer.dropText()
    const call = makeHeldCall(name, text, { by, reason, reply })
    answer.trail.hold(call)
    waiting.begin(toHeldPending(call, agentVersion))
  }

  async #reply(reply: string): Promise<void> {
    this.#run.markIncomplete('content_filter')
    await this.#run.answer.sendText(reply)
  }
}

/** @throws Error for what is no verdict: nothing passes unchecked */
function requireVerdict(id: string, verdict: unknown): Verdict {
  const fields = fieldsOf(verdict)
  const needed = NEEDED.get(fields.action)
  if (needed === undefined ? fields.action === 'pass' : typeof fields[needed] === 'string') return verdict as Verdict
  throw new Error(
    `The guard '${id}' returned no verdict: action must be 'pass', 'redact' with a text, 'block' or 'ask' with a reply.`,
  )
}

/** The text as a guard lets it pass; undefined when it does not. */
function passedText(text: string, verdict: Verdict, decided?: HeldDecision): string | undefined {
  if (decided) return decided.text
  if (verdict.action === 'pass') return text
  return verdict.action === 'redact' ? verdict.text : undefined
}

function withUserTexts(messages: readonly Message[], texts: readonly string[]): Message[] {
  let index = 0
  return messages.map((message) => (message.role === 'user' ? { ...message, content: texts[index++] ?? '' } : message))
}
