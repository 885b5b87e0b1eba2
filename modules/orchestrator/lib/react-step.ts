import { fieldsOf, isObject, parseJson, type ToolDefinition } from 'agent-host'

/** Output of a model in one step: a tool call, an answer, or neither. */
export type ReactStep =
  | { readonly kind: 'action'; readonly tool: string; readonly input: string; readonly text: string }
  | { readonly kind: 'answer'; readonly answer: string }
  | { readonly kind: 'unclear' }

const ANSWER = /(?:^|\n)[ \t]*\**Final Answer\**:\**[ \t]*/i
const ACTION = /(?:^|\n)[ \t]*\**Action\**:\**[ \t]*([^\n]+)/i
const INPUT = /(?:^|\n)[ \t]*\**Action Input\**:\**[ \t]*([\s\S]*)$/i
const OBSERVATION = /\n[ \t]*\**Observation\**:/i
const FORM = /(?:^|\n)[ \t]*\**(?:Thought|Action|Action Input)\**:/i

/**
 * Returns the start of the final answer in the text so far; undefined if there is none, or an action comes before
 * it.
 */
function findAnswer(text: string): number | undefined {
  const answer = ANSWER.exec(text)
  if (!answer) return undefined
  const action = ACTION.exec(text)
  return action && action.index < answer.index ? undefined : answer.index + answer[0].length
}

/** Characters of a line after which it no longer becomes the beginning of an answer. */
const MAX_MARK = 200

/** Looks for the final answer in a text that comes in pieces. Only new lines are searched: all that has come, with each piece, takes too long. */
export class AnswerSearch {
  /** Beginning of the last line, with the line break before it. */
  #begun = ''
  #hasAction = false
  #isFound = false

  /**
   * Returns what a piece adds to the answer; undefined before the answer, and false where the model writes an observation, which only tools
   * provide.
   */
  take(piece: string): string | undefined | false {
    if (this.#isFound) return piece
    if (this.#begun.length > MAX_MARK && !piece.includes('\n')) return undefined
    const text = this.#begun + piece
    const answer = ANSWER.exec(text)
    const action = ACTION.exec(text)
    this.#hasAction ||= action !== null && (!answer || action.index < answer.index)
    if (answer && !this.#hasAction) {
      const marked = text.slice(answer.index)
      const said = marked.slice(answer[0].length).trimStart()
      this.#isFound = said !== ''
      if (!this.#isFound) this.#begun = marked.replace(/\s+$/, ' ')
      return said
    }
    this.#begun = text.slice(Math.max(text.lastIndexOf('\n'), 0))
    return OBSERVATION.test(text) ? false : undefined
  }
}

/** Reads a finished step. */
export function readStep(written: string): ReactStep {
  const begin = findAnswer(written)
  if (begin !== undefined) return { kind: 'answer', answer: written.slice(begin).trim() }
  const text = (written.split(OBSERVATION)[0] ?? '').trimEnd()
  const tool = ACTION.exec(text)?.[1]
  if (tool !== undefined) {
    const input = INPUT.exec(text)?.[1]?.split(ANSWER)[0] ?? ''
    return { kind: 'action', tool: tool.replace(/[*`'"]/g, '').trim(), input: input.trim(), text }
  }
  // A model that keeps to no form at all, and just answers.
  return text === '' || FORM.test(text) ? { kind: 'unclear' } : { kind: 'answer', answer: text.trim() }
}

/**
 * The arguments of an action. Small models write a bare text where a tool has one argument only, and put JSON in a fence.
 *
 * @throws Error with the expected format, for the model
 */
export function readInput(input: string, tool: ToolDefinition | undefined): Record<string, unknown> {
  const bare = withoutFence(input).trim()
  if (bare === '' || bare.toLowerCase() === 'none') return {}
  const value = parseJson(bare)
  if (isObject(value)) return { ...value }
  const names = Object.keys(fieldsOf(tool?.parameters.properties))
  if (names.length === 1) return { [names[0] as string]: value ?? bare }
  const example = JSON.stringify(Object.fromEntries(names.map((name) => [name, '...'])))
  throw new Error(`Action Input must be a JSON object such as ${example}, and nothing else.`)
}

/** Without a regular expression: a lazy match would be quadratic. */
function withoutFence(text: string): string {
  const isFenced = text.length >= 6 && text.startsWith('```') && text.endsWith('```')
  return isFenced ? text.slice(3, -3).replace(/^\w*/, '') : text
}
