/** A module of a project: a model that answers by a seed whatever no model should. The text names the seed. */
export const HOSTILE_MODEL = `import { defineModule, LLM, Type } from 'agent-host'

function random(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const WEIRD = [undefined, null, 0, Number.NaN, '', '\\u0000', '\\ud800', [], {}, true, -1, 'x'.repeat(50000), { __proto__: null }, [[[[]]]]]

export default defineModule({
  name: 'HostileModel',
  provides: [LLM],
  create: () => ({
    async *generate({ messages }, run) {
      const next = random(Number(/\\d+/.exec(messages.at(-1)?.content ?? '')?.[0] ?? 1) + messages.length * 7919)
      const weird = () => WEIRD[next(WEIRD.length)]
      const parts = [
        () => ({ type: 'text', text: 'word ' }),
        () => ({ type: 'text', text: weird() }),
        () => ({ type: 'reasoning', text: weird(), blockId: weird(), providerMetadata: weird() }),
        () => ({ type: 'tool_call', call: { id: weird(), name: weird(), arguments: weird() } }),
        () => ({ type: 'tool_call', call: { id: 'same', name: 'add', arguments: { a: weird(), b: weird() } } }),
        () => ({ type: 'tool_call', call: { id: String(next(99)), name: 'ask', arguments: { question: 'x'.repeat(next(9999)) } } }),
        () => ({ type: 'usage', usage: { inputTokens: weird(), outputTokens: weird() } }),
        () => ({ type: 'finish', reason: weird() }),
        () => ({ type: weird() }),
        () => weird(),
      ]
      for (let left = next(8); left > 0; left--) {
        if (next(40) === 0) throw weird()
        yield parts[next(parts.length)]()
      }
    },
  }),
})
`
