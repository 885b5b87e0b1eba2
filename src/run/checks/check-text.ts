import { isTimeLimit } from '../../definition/run-limited.ts'
import { messageOf } from '../../errors.ts'
import type { ClientTool, ToolDefinition } from '../../protocols/tool-definition.ts'
import { type CheckTime, LATE } from './check-time.ts'
import { wholeTextExpression } from './whole-text-expression.ts'

/** Number of characters that an expression is tried with. */
const TRIAL_LENGTH = 48

/** Returns why a text is none that a tool of a client takes; undefined if it is one. */
export function findTextMisfit({ pattern }: ClientTool, text: unknown, time: CheckTime): string | undefined {
  if (typeof text !== 'string') return 'The argument input must be a text.'
  if (pattern === undefined) return undefined
  try {
    const isMatch = time.spend(() => wholeTextExpression(pattern).test(text))
    return isMatch ? undefined : `The input does not match the regular expression ${pattern}`
  } catch (error) {
    return isTimeLimit(error) ? `The input cannot be checked: ${LATE}` : messageOf(error)
  }
}

/** Returns the tool of a request whose expression backtracks without end, or the one for which no time is left after those before it. */
export function findSlowTool(tools: readonly ToolDefinition[], time: CheckTime): string | undefined {
  const tried = tools.filter(({ client }) => client?.pattern !== undefined)
  if (tried.length === 0) return undefined
  let current = ''
  try {
    time.spend(() => {
      for (const { name, client } of tried) {
        current = name
        tryExpression(client?.pattern ?? '')
      }
    })
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
