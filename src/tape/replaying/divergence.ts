import { fieldsOf } from '../../json.ts'
import type { TapedCall } from '../file/read-tape.ts'
import type { CallLine } from '../file/tape-lines.ts'
import { describeDifferences } from './describe-differences.ts'

/** Arguments by their names, where the methods of a protocol have names for them. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  generate: ['request'],
  executeTool: ['name', 'arguments'],
  needsApproval: ['name', 'arguments'],
  ruleFor: ['name', 'arguments'],
}

/** A call as reports show it. */
export interface ShownCall {
  /** Within the tape, from 1 on; null for one that is not on it. */
  readonly number: number | null
  readonly module: string
  readonly method: string
  /** By name where they have names. */
  readonly arguments: unknown
}

/** The first thing in which a replay differs from its tape. */
export interface Divergence {
  readonly runId: string
  /** `call`: one without a match. `missing`: recorded, and not asked for. `end`: another answer, or another end. */
  readonly kind: 'call' | 'missing' | 'end'
  readonly asked: ShownCall | null
  /** The call that was most likely meant. */
  readonly recorded: ShownCall | null
  /** Line by line; empty where nothing can be compared. */
  readonly differences: readonly string[]
}

type Asked = Pick<CallLine, 'module' | 'method' | 'arguments'>

/** A call that the tape does not have. */
export function divergenceAt(runId: string, asked: Asked, recorded: TapedCall | undefined, offset: number): Divergence {
  const before = recorded && toShown(recorded.line, recorded.line.call + offset)
  const now = toShown(asked, null)
  const isSameMethod = before && before.module === now.module && before.method === now.method
  return {
    runId,
    kind: 'call',
    asked: now,
    recorded: before ?? null,
    differences: isSameMethod ? describeDifferences(before.arguments, now.arguments) : [],
  }
}

export function toShown({ module, method, arguments: args }: Asked, number: number | null): ShownCall {
  const names = ARGUMENTS[method]
  const named = names
    ? Object.fromEntries(args.map((arg, index) => [names[index] ?? `argument ${index + 1}`, arg]))
    : args
  return { number, module, method, arguments: named }
}

const MAX_DIFFERENCES = 5
const MAX_CHARS = 300

/** Lines that tell people of a divergence. */
export function describeDivergence({ kind, asked, recorded, differences: found }: Divergence): string[] {
  const number = recorded?.number
  const shown = found.slice(0, MAX_DIFFERENCES)
  const more = found.length > shown.length ? [`  and ${found.length - shown.length} more`] : []
  const lines = [...shown.map((line) => `  ${line}`), ...more]
  if (kind === 'end') return ['Every call matched, and the run ends differently:', ...lines]
  if (kind === 'missing' && recorded) {
    return [`The run ended without call ${number}: ${describeCall(recorded)}`]
  }
  if (!asked) return lines
  if (!recorded) return [`The tape has no more calls, and one is asked for: ${describeCall(asked)}`]
  if (found.length > 0) return [`Call ${number} differs: ${describeCall(asked)}`, ...lines]
  return [
    `The tape does not have this call: ${describeCall(asked)}`,
    `  Recorded as call ${number}: ${describeCall(recorded)}`,
  ]
}

/** `tools: refund({"order":7})`, `llm.generate({...})`. */
function describeCall({ module, method, arguments: args }: ShownCall): string {
  const { name, arguments: given } = fieldsOf(args)
  const isTool = typeof name === 'string' && (method === 'executeTool' || method === 'needsApproval')
  const text = isTool ? `${module}: ${name}(${listJson(given)})` : `${module}.${method}(${listJson(args)})`
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text
}

function listJson(value: unknown): string {
  return Array.isArray(value) ? value.map((item) => JSON.stringify(item)).join(', ') : (JSON.stringify(value) ?? '')
}
