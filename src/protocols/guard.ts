import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Verdict of a guard on a text. */
export type Verdict =
  | { readonly action: 'pass' }
  /** `text` takes the place of the inspected text. */
  | { readonly action: 'redact'; readonly text: string; readonly reason: string }
  /** `reply` is sent, and nothing else. */
  | { readonly action: 'block'; readonly reply: string; readonly reason: string }
  /** A person approves, edits or rejects the text; the run waits until then. `reply` is sent after a rejection. */
  | { readonly action: 'ask'; readonly reply: string; readonly reason: string }

/**
 * Inspects the messages of users before the agent sees them. The host calls every guard of an agent, in the order of its file: no
 * wiring is needed, and no entry point gets around it. A guard that throws fails the run.
 *
 * @example
 * ```ts
 * export const noShouting = defineModule({
 *   name: 'NoShouting',
 *   provides: [InputGuard],
 *   create: () => ({
 *     checkInput: (texts) =>
 *       texts.map((text) =>
 *         /^[^a-z]{20,}$/.test(text)
 *           ? { action: 'block', reply: 'Please do not shout.', reason: 'shouting' }
 *           : { action: 'pass' },
 *       ),
 *   }),
 * })
 * ```
 */
export interface InputGuard {
  /**
   * Returns one verdict for each text.
   *
   * @param texts user messages of the conversation, oldest first; the last is the one to handle
   * @remarks The host calls it once in each run, before the handler, with the texts that the guard before it let pass.
   * @throws unknown fails the run: nothing passes unchecked. So does a wrong number of verdicts, and a value that is no verdict
   */
  checkInput(texts: readonly string[], run: Run): readonly Verdict[] | Promise<readonly Verdict[]>
}
export const InputGuard = defineProtocol<InputGuard>('InputGuard', ['checkInput'])

/**
 * Inspects the answer of an agent before it is sent. With an output guard the host holds the whole text until the
 * handler has ended, also for clients that stream. A guard that throws fails the run, and nothing of the answer is sent.
 *
 * @example
 * ```ts
 * export const noNumbers = defineModule({
 *   name: 'NoNumbers',
 *   provides: [OutputGuard],
 *   create: () => ({
 *     checkOutput: (text) =>
 *       /\d/.test(text) ? { action: 'redact', text: text.replace(/\d+/g, '…'), reason: 'a number' } : { action: 'pass' },
 *   }),
 * })
 * ```
 */
export interface OutputGuard {
  /**
   * Returns the verdict on the whole text of the answer.
   *
   * @remarks The host calls it once in each run, when the handler has ended, with the text that the guard before it let pass; not for an answer without text, and not for a run
   * that waits.
   * @throws unknown fails the run: nothing of the answer is sent. So does a value that is no verdict
   */
  checkOutput(text: string, run: Run): Verdict | Promise<Verdict>
}
export const OutputGuard = defineProtocol<OutputGuard>('OutputGuard', ['checkOutput'])
