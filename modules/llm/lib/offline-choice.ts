import type { ToolDefinition } from 'agent-host'

/** The tool whose name and description share the most words with the question; `undefined` when none does. */
export function pickTool(question: string, tools: readonly ToolDefinition[]): ToolDefinition | undefined {
  const asked = wordsOf(question)
  let best: { tool: ToolDefinition; score: number } | undefined
  for (const tool of tools) {
    const score = scoreOf(tool, asked)
    if (score > 0 && (!best || score > best.score)) best = { tool, score }
  }
  return best?.tool
}

/** A word of the name weighs more than one of the description; a possible argument weighs a little. */
function scoreOf({ name, description, parameters }: ToolDefinition, asked: ReadonlySet<string>): number {
  const shared = (text: string) => [...wordsOf(text)].filter((word) => asked.has(word)).length
  return 3 * shared(name) + 2 * shared(description) + shared(aboutArguments(parameters))
}

/** Names, descriptions and choices, without the keywords of JSON Schema. */
function aboutArguments({ properties = {} }: ToolDefinition['parameters']): string {
  const described = Object.entries(properties as Readonly<Record<string, { description?: string; enum?: unknown[] }>>)
  return described
    .map(([name, { description = '', enum: choices = [] }]) => [name, description, ...choices].join(' '))
    .join(' ')
}

/** Stop words. */
const COMMON = new Set(
  'a an and any are as at be by can could current default description do does for from get give have how i in is it left me my of on or out please property show string such tell tells that the this to type use what when where which who will with would you your'.split(
    ' ',
  ),
)

function wordsOf(text: string): Set<string> {
  const words =
    text
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return new Set(words.filter((word) => word.length > 1 && !COMMON.has(word)).map(stem))
}

/** `times`, `timed`, `timing` -> `tim`: enough for words to find each other. */
function stem(word: string): string {
  return word.length > 3 ? word.replace(/(ing|ed|es|s|e)$/, '') : word
}
