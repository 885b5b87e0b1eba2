import { isTimeLimit, runLimited } from '../../definition/run-limited.ts'
import { messageOf } from '../../errors.ts'
import type { ClientTool, ToolDefinition } from '../../protocols/tool-definition.ts'
import { wholeTextExpression } from './whole-text-expression.ts'

/** Time of the checks of one text, or one request: expressions come from clients, and may take for ever. */
const CHECK_MS = 200

/** Number of characters that an expression is tried with. */
const TRIAL_LENGTH = 48

/** Returns why a text is none that a tool of a client takes; undefined if it is one. */
export function findTextMisfit({ pattern }: ClientTool, text: unknown): string | undefined {
  if (typeof text !== 'string') return 'The argument input must be a text.'
  if (pattern === undefined) return undefined
  try {
    const isMatch = runLimited(() => wholeTextExpression(pattern).test(text), CHECK_MS)
    return isMatch ? undefined : `The input does not match the regular expression ${pattern}`
  } catch (error) {
    return isTimeLimit(error) ? `The check takes longer than ${CHECK_MS} ms.` : messageOf(error)
  }
}

/** Returns the tool of a request whose expression backtracks without end. All have one time limit: many that are nearly too slow hold the server too. */
export function findSlowTool(tools: readonly ToolDefinition[]): string | undefined {
  const tried = tools.filter(({ client }) => client?.pattern !== undefined)
  if (tried.length === 0) return undefined
  let current = ''
  try {
    runLimited(() => {
      for (const { name, client } of tried) {
        current = name
        tryExpression(client?.pattern ?? '')
      }
    }, CHECK_MS)
    return undefined
  } catch (error) {
    if (!isTimeLimit(error)) throw error
    return current
  }
}

function tryExpression(pattern: string): void {
  const expression = wholeTextExpression(pattern)
  for (const character of new Set(`a0 ${pattern.replace(/[^\w -]/g, '')}`)) {
    expression.test(`${character.repeat(TRIAL_LENGTH)}\u0000`)
  }
}
