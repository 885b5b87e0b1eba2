import { isTimeLimit, runLimited } from '../../definition/run-limited.ts'
import { messageOf } from '../../errors.ts'
import type { ClientTool } from '../../protocols/tool-definition.ts'
import { wholeTextExpression } from './whole-text-expression.ts'

/** Time of one check: expressions come from clients, and may take for ever. */
const CHECK_MS = 200

/** Number of characters that an expression is tried with. */
const TRIAL_LENGTH = 48

/** Returns why a text is none that a tool of a client takes; undefined if it is one. */
export function findTextMisfit({ pattern }: ClientTool, text: unknown): string | undefined {
  if (typeof text !== 'string') return 'The argument input must be a text.'
  if (pattern === undefined) return undefined
  return tryExpression(pattern, (expression) =>
    expression.test(text) ? undefined : `The input does not match the regular expression ${pattern}`,
  )
}

/** Returns why an expression cannot be used, one that backtracks without end too; undefined if it can. */
export function findExpressionFault(pattern: string): string | undefined {
  return tryExpression(pattern, (expression) => {
    for (const character of new Set(`a0 ${pattern.replace(/[^\w -]/g, '')}`)) {
      expression.test(`${character.repeat(TRIAL_LENGTH)}\u0000`)
    }
    return undefined
  })
}

function tryExpression(pattern: string, check: (expression: RegExp) => string | undefined): string | undefined {
  try {
    return runLimited(() => check(wholeTextExpression(pattern)), CHECK_MS)
  } catch (error) {
    return isTimeLimit(error) ? `The check takes longer than ${CHECK_MS} ms.` : messageOf(error)
  }
}
