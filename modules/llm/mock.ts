import { setTimeout } from 'node:timers/promises'
import { defineModule, LLM, type LLMPart, type Run, type Static, Type } from 'agent-host'

const ToolCall = Type.Object({
  name: Type.String({ description: 'Name of the tool.' }),
  arguments: Type.Record(Type.String(), Type.Unknown(), { default: {}, description: 'Arguments of the call.' }),
})

const Reply = Type.Object({
  text: Type.Optional(Type.String({ description: 'What the model says.' })),
  reasoning: Type.Optional(Type.String({ description: 'What it thinks before.' })),
  tool_calls: Type.Optional(Type.Array(ToolCall, { description: 'Tools it calls, all at once.' })),
  chunks: Type.Optional(
    Type.Integer({ minimum: 1, description: 'In how many pieces the text comes. Default: word by word.' }),
  ),
  delay_ms: Type.Optional(Type.Number({ minimum: 0, description: 'Wait before each piece, in milliseconds.' })),
  error: Type.Optional(Type.String({ description: 'Fail with this message, after the text.' })),
  usage: Type.Optional(
    Type.Object({
      input_tokens: Type.Integer({ minimum: 0, default: 0 }),
      output_tokens: Type.Integer({ minimum: 0, default: 0 }),
      model: Type.Optional(Type.String({ description: 'Name of the model that the tokens are counted for.' })),
    }),
  ),
})
type Reply = Static<typeof Reply>

export default defineModule({
  name: 'MockLLM',
  description: 'Gives scripted replies, one after the other; for tests.',
  provides: [LLM],
  config: Type.Object({
    replies: Type.Array(Type.Union([Type.String(), Reply]), {
      minItems: 1,
      description:
        'In their order; after the last one the first comes again. Each instance of the module begins anew: with the scope `agent` the script goes on from run to run.',
    }),
  }),
  create: (_, { replies }) => {
    let next = 0
    return {
      async *generate(_request, run) {
        const reply = replies[next++ % replies.length] ?? ''
        yield* play(typeof reply === 'string' ? { text: reply } : reply, next, run)
      },
    }
  },
})

async function* play(reply: Reply, turn: number, run: Run): AsyncGenerator<LLMPart> {
  const { text = '', reasoning, tool_calls = [], chunks, delay_ms = 0, error, usage } = reply
  run.signal.throwIfAborted()
  if (reasoning !== undefined) yield { type: 'reasoning', text: reasoning }
  for (const piece of cut(text, chunks)) {
    if (delay_ms > 0) await setTimeout(delay_ms, undefined, { signal: run.signal }).catch(() => {})
    run.signal.throwIfAborted()
    yield { type: 'text', text: piece }
  }
  if (error !== undefined) throw new Error(error)
  for (const [index, call] of tool_calls.entries()) {
    yield { type: 'tool_call', call: { id: `call_${turn}_${index}`, name: call.name, arguments: call.arguments } }
  }
  if (usage) {
    const { input_tokens: inputTokens, output_tokens: outputTokens, model } = usage
    yield { type: 'usage', usage: { inputTokens, outputTokens }, ...(model === undefined ? {} : { model }) }
  }
  yield { type: 'finish', reason: tool_calls.length > 0 ? 'tool_calls' : 'stop' }
}

function cut(text: string, chunks: number | undefined): string[] {
  if (chunks === undefined) return text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === '' ? [] : [text])
  // By code points: half a surrogate pair is no text.
  const characters = [...text]
  const size = Math.ceil(characters.length / chunks)
  return Array.from({ length: chunks }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  ).filter((piece) => piece !== '')
}
