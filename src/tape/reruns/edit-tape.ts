import { isDeepStrictEqual } from 'node:util'
import { badRequest, type HostError } from '../../errors.ts'
import type { TapedCall, TapedRun, TapedStep } from '../file/read-tape.ts'
import type { OutcomeLine, PartLine } from '../file/tape-lines.ts'
import { type JsonValue, jsonFields } from '../file/tape-values.ts'

/** Edit of one call of a recorded run. */
export interface CallEdit {
  /** Arguments of a tool: the model asks for it with these. */
  readonly arguments?: Readonly<Record<string, JsonValue>> | undefined
  /** Result of the call: the text of a tool or of a model's answer, otherwise any value. */
  readonly result?: JsonValue | undefined
}

/**
 * Returns a recorded run with one call edited.
 *
 * @param call number within the run
 * @returns beside the run, the number of the first call that the edit leaves open
 * @throws HostError `REQUEST_INVALID` for arguments that no model of the run asked for, and for a part of another call
 */
export function editTape(
  run: TapedRun,
  call: number,
  { arguments: args, result }: CallEdit,
): { readonly run: TapedRun; readonly from: number } {
  const { within = null } = run.calls[call - 1]?.line ?? {}
  if (within !== null && (args ?? result) !== undefined) {
    throw refuse(args ? 'arguments' : 'result', `call ${call} is a part of call ${within}; edit that one`)
  }
  const edited = args === undefined ? run : withArguments(run, call, args)
  if (result === undefined) return { run: edited, from: call }
  return { run: withCall(edited, call, (taped) => withResult(taped, result)), from: call + 1 }
}

function withCall(run: TapedRun, call: number, change: (taped: TapedCall) => TapedCall): TapedRun {
  return { ...run, calls: run.calls.map((taped) => (taped.line.call === call ? change(taped) : taped)) }
}

/** Has the model ask for other arguments: so the conversation, approvals and the tool have the same ones. */
function withArguments(run: TapedRun, call: number, args: Readonly<Record<string, JsonValue>>): TapedRun {
  const taped = run.calls[call - 1]
  if (taped?.line.method !== 'executeTool' || taped.line.protocol !== 'ToolProvider')
    throw refuse('arguments', `call ${call} is none of a tool`)
  const [name = null, before = null] = taped.line.arguments
  const isAsked = (step: TapedStep) => {
    const asked = toolCallOf(step)
    return asked?.name === name && isDeepStrictEqual(asked.arguments, before)
  }
  const model = run.calls.findLast(
    ({ line, steps }) => line.call < call && line.protocol === 'LLM' && steps.some(isAsked),
  )
  if (!model) throw refuse('arguments', `no model asked for call ${call} with these arguments; edit its result`)
  // Of several equal calls, each has its own request.
  const earlier = run.calls.slice(model.line.call, call - 1).filter(({ line }) => {
    return line.method === 'executeTool' && isDeepStrictEqual(line.arguments, taped.line.arguments)
  }).length
  const asking = model.steps.filter(isAsked)[earlier] ?? model.steps.find(isAsked)
  const steps = model.steps.map((step) => (step === asking ? mapStep(step, (line) => askFor(line, args)) : step))
  const line = { ...taped.line, arguments: [name, args] }
  return withCall(
    withCall(run, model.line.call, () => ({ ...model, steps })),
    call,
    () => ({ ...taped, line }),
  )
}

function askFor(line: StepLine, args: Readonly<Record<string, JsonValue>>): StepLine {
  if (line.type !== 'part') return line
  const part = jsonFields(line.value)
  return { ...line, value: { ...part, call: { ...jsonFields(part.call ?? null), arguments: args } } }
}

function toolCallOf(step: TapedStep): { readonly [name: string]: JsonValue } | undefined {
  const line = step.read()
  const part = line.type === 'part' ? jsonFields(line.value) : {}
  return part.type === 'tool_call' ? jsonFields(part.call ?? null) : undefined
}

function withResult(taped: TapedCall, result: JsonValue): TapedCall {
  const { line, steps, at } = taped
  if (line.protocol === 'LLM') return { ...taped, steps: withText(taped, String(result)) }
  const isTool = line.method === 'executeTool' && line.protocol === 'ToolProvider'
  const last = steps.at(-1)?.read()
  const shape = last?.type === 'result' && last.shape === 'value' ? 'value' : 'promise'
  const value = isTool ? toToolResult(result) : result
  const outcome: OutcomeLine = { type: 'result', call: line.call, ms: line.ms, shape, value }
  // What the callee did to the run goes with what it gave.
  return { ...taped, steps: [{ at: steps.at(-1)?.at ?? at, read: () => outcome }] }
}

function toToolResult(result: JsonValue): JsonValue {
  return typeof result === 'string' ? { text: result } : { text: JSON.stringify(result), data: result }
}

/** The answer of a model with another text; its tool calls stay. */
function withText({ line, steps, at }: TapedCall, text: string): TapedStep[] {
  const { call, ms } = line
  const last = steps.at(-1)?.read()
  const hasEnded = last?.type === 'result' && last.error === undefined
  const said: PartLine = { type: 'part', call, ms, value: { type: 'text', text } }
  const first: TapedStep = { at: steps[0]?.at ?? at, read: () => said }
  if (hasEnded) return [first, ...steps.filter((step) => !isText(step))]
  const end: PartLine = { type: 'part', call, ms, value: { type: 'finish', reason: 'stop' } }
  const outcome: OutcomeLine = { type: 'result', call, ms, shape: 'stream', value: null }
  return [first, { at: first.at, read: () => end }, { at: first.at, read: () => outcome }]
}

function isText(step: TapedStep): boolean {
  const line = step.read()
  return line.type === 'part' && jsonFields(line.value).type === 'text'
}

type StepLine = ReturnType<TapedStep['read']>

function mapStep({ at, read }: TapedStep, change: (line: StepLine) => StepLine): TapedStep {
  return { at, read: (edit) => change(read(edit)) }
}

function refuse(field: keyof CallEdit, reason: string): HostError {
  return badRequest(`${field}: ${reason}`, { field })
}
