import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { parseJson } from '../components/parse-json.ts'
import type { CallPayload } from '../run/call-payload.ts'
import { readExchange } from '../run/kinds/model-exchange.ts'

/** A call as texts, whose words can be compared. */
export interface CallTexts {
  readonly asked: string
  readonly given: string
}

export function textsOf({ kind }: Call, { args, result, foldedException }: CallPayload): CallTexts {
  const failure = foldedException === null ? undefined : foldedException
  const exchange = kind === 'model' ? readExchange(args[0], result) : undefined
  if (!exchange) {
    const asked = args.length === 1 ? args[0] : kind === 'tool' && typeof args[0] === 'string' ? args[1] : args
    return { asked: toText(asked), given: failure ?? toText(contentOf(result)) }
  }
  const { messages, parameters, answer } = exchange
  const said = messages.map(({ role, content, toolCalls }) => `${role}: ${content}${listCalls(toolCalls)}`)
  const options = Object.keys(parameters).length === 0 ? [] : [toText(parameters)]
  return {
    asked: [...said, ...options].join('\n\n'),
    given: failure ?? `${answer.content}${listCalls(answer.toolCalls)}`.trim(),
  }
}

/** The text of a tool's result is the result, unless there is a value. */
function contentOf(result: unknown): unknown {
  const { text, data } = (result ?? {}) as { text?: unknown; data?: unknown }
  return data ?? (typeof text === 'string' ? parseJson(text) : result)
}

function listCalls(calls: readonly { readonly name: string; readonly arguments: unknown }[]): string {
  return calls.map(({ name, arguments: given }) => `\n${name} ${JSON.stringify(given)}`).join('')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}
