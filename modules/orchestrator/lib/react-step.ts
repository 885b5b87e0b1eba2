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
export function findAnswer(text: string): number | undefined {
  const answer = ANSWER.exec(text)
  if (!answer) return undefined
  const action = ACTION.exec(text)
  return action && action.index < answer.index ? undefined : answer.index + answer[0].length
}

/** Returns true if the model has started to write an observation, which only tools provide. */
export function goesOnByItself(text: string): boolean {
  return findAnswer(text) === undefined && OBSERVATION.test(text)
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
