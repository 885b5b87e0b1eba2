import { defineModule, InputGuard, LLM, optional } from 'agent-host'
import { Inspector } from './lib/inspector.ts'
import { Rules } from './lib/rules.ts'

export default defineModule({
  name: 'InputGuard',
  description: "Blocks, redacts or holds users' messages before the agent sees them.",
  provides: [InputGuard],
  uses: { llm: optional(LLM) },
  config: Rules,
  create: ({ llm }, config, context) => {
    const inspector = new Inspector(config, llm, context)
    return {
      async checkInput(texts, run) {
        const earlier = texts.slice(0, -1)
        const verdicts = earlier.map((text) => inspector.check(text))
        const last = texts.at(-1)
        return last === undefined ? verdicts : [...verdicts, await inspector.judge(last, earlier, run)]
      },
    }
  },
})
