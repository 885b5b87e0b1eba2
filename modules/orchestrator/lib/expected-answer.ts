import { type CompiledSchema, compileSchema, HostError, isTimeLimit, type Run, runLimited } from 'agent-host'
import type { ModelAnswer } from './call-model.ts'

type Schema = Readonly<Record<string, unknown>>

/** Time of one check: the schema is a client's, and may take for ever. */
const CHECK_MS = 200

/** Form that the client of a run wants the answer in: JSON of a schema. It is held back until it is known to fit. */
export class ExpectedAnswer {
  readonly schema: Schema
  #compiled: CompiledSchema | undefined
  #isCorrected = false

  private constructor(schema: Schema) {
    this.schema = schema
  }

  /** Undefined for a run whose answer may be any text. */
  static of({ requestOptions: { responseSchema } }: Run): ExpectedAnswer | undefined {
    return responseSchema && new ExpectedAnswer(responseSchema)
  }

  /**
   * Reads a finished answer: the text to send, or the correction that the model needs. An answer that a limit has cut off is
   * sent as it is; its run is incomplete.
   *
   * @throws HostError `OUTPUT_INVALID` when the corrected answer does not fit either, or the check takes too long
   */
  read({ text: written, isCut }: Pick<ModelAnswer, 'text' | 'isCut'>): { text: string } | { correction: string } {
    const text = withoutFence(written)
    const problem = isCut ? undefined : this.#problemOf(text)
    if (problem === undefined) return { text }
    if (this.#isCorrected) {
      throw refusal(problem)
    }
    this.#isCorrected = true
    const schema = JSON.stringify(this.schema)
    return { correction: `That does not fit: ${problem} Answer with nothing but JSON that fits this schema: ${schema}` }
  }

  #problemOf(text: string): string | undefined {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return 'the answer is not JSON.'
    }
    try {
      return runLimited(() => this.#misfitsOf(value), CHECK_MS)
    } catch (error) {
      if (!isTimeLimit(error)) throw error
      // The model cannot fix that.
      throw refusal(`its check takes longer than ${CHECK_MS} ms.`)
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

/** Some models put JSON in a code fence despite the prompt. */
function withoutFence(text: string): string {
  const bare = text.trim()
  return bare.startsWith('```') && bare.endsWith('```') ? bare.replace(/^```\w*|```$/g, '').trim() : bare
}
