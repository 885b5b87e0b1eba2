import { isPromise } from '../../async.ts'
import { fieldsOf, isDeeper, MAX_LEVELS } from '../../json.ts'
import { AnswerParts } from '../../protocols/answer-parts.ts'
import type { LLM, LLMPart, LLMRequest } from '../../protocols/llm.ts'
import type { ToolCall } from '../../protocols/message.ts'
import type { Run } from '../../protocols/run.ts'
import { AgentRun } from '../agent-run.ts'
import type { RunQuota } from '../state/run-quota.ts'
import type { ModelAnswer, Trail } from '../state/trail.ts'
import { withVendorIds } from '../state/unique-calls.ts'
import { RUN_WAITS } from '../waiting/pending-call.ts'
import { isAsyncIterable, isGenerator, type StreamTap, tapStream } from './stream-tap.ts'

/** A model that gets the options of the run's client, and its own ids of calls. Around a facade: its events have the request as the model gets it. */
export function completeRequests(llm: LLM): LLM {
  return {
    generate: (request, run) => llm.generate(withVendorIds(withClientOptions(request, run)), run),
    ...countingOf(llm),
  }
}

/**
 * A model whose answers enter the trail of the run. A run that waits asks no model.
 *
 * @param warn told about parts that nobody reads
 * @param passesOn true for a model that asks others: those count
 */
export function recordLLM(llm: LLM, warn: (message: string) => void = () => {}, passesOn = false): LLM {
  return {
    ...countingOf(llm),
    generate(request, run) {
      if (!(run instanceof AgentRun)) return llm.generate(request, run)
      const { trail } = run.answer
      if (run.waiting.hasBegun) throw RUN_WAITS
      const answer: unknown =
        run.quota && !passesOn ? meter(run.quota, () => llm.generate(request, run)) : llm.generate(request, run)
      const tap = (stream: AsyncIterable<unknown>) => tapStream(stream, new AnswerTap(trail, warn))
      // A module may be written in JavaScript: the promise of a stream is one of the shapes that facades know.
      const isLate = !isGenerator(answer) && isPromise(answer) && !isAsyncIterable(answer)
      return (isLate ? answer.then((stream) => tap(stream as never)) : tap(answer as never)) as AsyncIterable<LLMPart>
    },
  }
}

function countingOf(llm: LLM): Pick<LLM, 'countTokens'> {
  return llm.countTokens ? { countTokens: llm.countTokens.bind(llm) } : {}
}

/** A call that counts for the sender of its run: what it has used is counted before its last part goes on, also when its reader leaves. */
async function* meter(quota: RunQuota, generate: () => AsyncIterable<LLMPart>): AsyncGenerator<LLMPart> {
  await quota.admitCall()
  const used: Extract<LLMPart, { type: 'usage' }>[] = []
  try {
    for await (const part of await generate()) {
      if (part.type === 'usage') used.push(part)
      yield part
    }
  } finally {
    await Promise.all(used.map(({ usage, model }) => quota.spend(usage, model)))
  }
}

/** Fills in what the caller leaves open. Tool choice and the form of the answer are the orchestrator's to pass on. */
function withClientOptions(request: LLMRequest, run: Run | undefined): LLMRequest {
  const { toolChoice: _choice, responseSchema: _schema, ...options } = run?.requestOptions ?? {}
  const left = Object.entries(options).filter(([name]) => request[name as keyof typeof options] === undefined)
  return left.length === 0 ? request : { ...request, ...Object.fromEntries(left) }
}

const NO_CALL =
  "A part 'tool_call' of the model has no call. Yield { type: 'tool_call', call: { id, name, arguments } }, with texts as id and name."

const PARTS: ReadonlySet<unknown> = new Set<LLMPart['type']>(['text', 'reasoning', 'tool_call', 'usage', 'finish'])

/** Notes one answer in the trail, and gives its calls the ids that they have there. */
class AnswerTap implements StreamTap {
  readonly #trail: Trail
  readonly #warn: (message: string) => void
  readonly #answer: ModelAnswer = { text: '', reasoning: [], calls: [] }
  readonly #parts = new AnswerParts(this.#answer)

  constructor(trail: Trail, warn: (message: string) => void) {
    this.#trail = trail
    this.#warn = warn
  }

  replace(value: unknown): LLMPart {
    const part = value as LLMPart
    const { type, providerMetadata } = fieldsOf(value)
    if (!PARTS.has(type))
      this.#warn(`yields a part of the unknown type '${type}'. The types: ${[...PARTS].join(', ')}.`)
    if (providerMetadata !== undefined) refuseDeep(providerMetadata)
    if (part.type !== 'tool_call') return part
    const { id, name } = fieldsOf(part.call)
    if (typeof id !== 'string' || typeof name !== 'string') throw new TypeError(NO_CALL)
    refuseDeep(part.call.providerMetadata)
    return { ...part, call: this.#trail.propose(readable(part.call), this.#answer).call }
  }

  part(value: unknown): void {
    this.#parts.take(value as LLMPart)
  }

  end(): void {
    if (this.#answer.calls.length === 0) this.#trail.noteAnswer(this.#answer)
  }

  /** Half an answer is no part of the conversation, but its calls may have been executed. */
  fail(): void {}
}

/** @throws TypeError for metadata that is nested too deep to be stored */
function refuseDeep(metadata: unknown): void {
  if (isDeeper(metadata, MAX_LEVELS)) throw new TypeError(`The model sent metadata of more than ${MAX_LEVELS} levels.`)
}

/** Returns the call with arguments that can be stored: those nested too deep are treated like arguments that are not JSON. */
function readable(call: ToolCall): ToolCall {
  if (!isDeeper(call.arguments, MAX_LEVELS)) return call
  return { ...call, arguments: {}, unreadable: `(more than ${MAX_LEVELS} levels of lists and objects)` }
}
