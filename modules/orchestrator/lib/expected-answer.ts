import { type CompiledSchema, compileSchema, HostError, isTimeLimit, parseJson, type Run } from 'agent-host'
import type { ModelAnswer } from './call-model.ts'

type Schema = Readonly<Record<string, unknown>>

/** Form that the client of a run wants the answer in: JSON of a schema. It is held back until it is known to fit. */
export class ExpectedAnswer {
  readonly schema: Schema
  readonly #run: Run
  #compiled: CompiledSchema | undefined
  #isCorrected = false

  private constructor(schema: Schema, run: Run) {
    this.schema = schema
    this.#run = run
  }

  /** Undefined for a run whose answer may be any text. */
  static of(run: Run): ExpectedAnswer | undefined {
    const { responseSchema } = run.requestOptions
    return responseSchema && new ExpectedAnswer(responseSchema, run)
  }

  /**
   * Reads a finished answer: the text to send, or the correction that the model needs. An answer that a limit has cut off is
   * sent as it is; its run is incomplete.
   *
   * @throws HostError `OUTPUT_INVALID` when the corrected answer does not fit either, or the check takes too long
   */
  read({ text: written, isCut }: Pick<ModelAnswer, 'text' | 'isCut'>): { text: string } | { correction: string } {
    const [whole = '', ...others] = readings(written)
    const problem = isCut ? undefined : this.#problemOf(whole)
    if (problem === undefined) return { text: whole }
    const other = others.find((text) => this.#problemOf(text) === undefined)
    if (other !== undefined) return { text: other }
    if (this.#isCorrected) {
      throw refusal(problem)
    }
    this.#isCorrected = true
    const schema = JSON.stringify(this.schema)
    return { correction: `That does not fit: ${problem} Answer with nothing but JSON that fits this schema: ${schema}` }
  }

  #problemOf(text: string): string | undefined {
    const value = parseJson(text)
    if (value === undefined) return 'the answer is not JSON.'
    try {
      return this.#run.checkInTime(() => this.#misfitsOf(value))
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      // The model cannot fix that.
      throw refusal('its checks take too long.')
    }
  }

  #misfitsOf(value: unknown): string | undefined {
    this.#compiled ??= compileSchema(this.schema)
    if (this.#compiled.matches(value)) return undefined
    return this.#compiled.problems(value, 'the answer').slice(0, 5).join(' ')
  }
}

function refusal(problem: string): HostError {
  return new HostError('OUTPUT_INVALID', `The model did not answer as the requested schema says: ${problem}`)
}

/** Texts that may be meant: all of it, or a code fence, which some models put JSON in despite the prompt. Thoughts before it do not count. */
function readings(text: string): string[] {
  const bare = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '').trim()
  const fences = [...bare.matchAll(/```\w*\s([\s\S]*?)```/g)].map(([, inside = '']) => inside.trim())
  return [bare, ...fences]
}
