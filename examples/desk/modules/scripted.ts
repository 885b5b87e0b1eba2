import { defineModule, LLM, type LLMPart, type Message, Type } from 'agent-host'

const Step = Type.Object({
  say: Type.Optional(Type.String({ description: 'Text; {result} stands for the latest result of a tool.' })),
  call: Type.Optional(
    Type.Object({ name: Type.String(), arguments: Type.Record(Type.String(), Type.Unknown(), { default: {} }) }),
  ),
})

export default defineModule({
  name: 'ScriptedLLM',
  description: 'Answers by rules: the first one that fits the question. No network, no key.',
  provides: [LLM],
  config: Type.Object({
    rules: Type.Array(
      Type.Object({
        when: Type.String({ description: 'Regular expression; $1 in the steps is its first group.' }),
        steps: Type.Array(Step, { minItems: 1, description: 'One after each result of a tool.' }),
      }),
      { minItems: 1 },
    ),
  }),
  create: (_, { rules }) => ({
    modelInfo: { name: 'scripted', provider: 'example' },
    async *generate({ messages }, run): AsyncGenerator<LLMPart> {
      const asked = messages.findLastIndex(({ role }) => role === 'user')
      const question = messages[asked]?.content ?? ''
      const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool')
      const rule = rules.find(({ when }) => new RegExp(when, 'is').test(question))
      const step = rule?.steps[Math.min(results.length, rule.steps.length - 1)]
      const fill = makeFill(new RegExp(rule?.when ?? '', 'is').exec(question) ?? [], results.at(-1))
      for (const word of (step?.say ? String(fill(step.say)) : '').match(/\S+\s*/g) ?? []) {
        run.signal.throwIfAborted()
        yield { type: 'text', text: word }
      }
      const call = results.length < (rule?.steps.length ?? 1) - 1 ? step?.call : undefined
      if (call) {
        const args = Object.fromEntries(Object.entries(call.arguments).map(([name, value]) => [name, fill(value)]))
        yield { type: 'tool_call', call: { id: `call_${results.length + 1}`, name: call.name, arguments: args } }
      }
      const [input, output] = [messages.reduce((sum, { content }) => sum + content.length, 0), step?.say?.length ?? 10]
      yield {
        type: 'usage',
        usage: { inputTokens: Math.ceil(input / 4), outputTokens: Math.ceil(output / 4) },
        model: 'scripted',
      }
      yield { type: 'finish', reason: call ? 'tool_calls' : 'stop' }
    },
  }),
})

/** Puts groups of the question and the latest result into a value; digits alone become a number. */
function makeFill(groups: readonly string[], result: Message | undefined) {
  return (value: unknown): unknown => {
    if (typeof value !== 'string') return value
    const filled = value
      .replace(/\$(\d)/g, (_, index: string) => groups[Number(index)] ?? '')
      .replaceAll('{result}', result?.content ?? '')
    return /^\d+$/.test(filled) ? Number(filled) : filled
  }
}
