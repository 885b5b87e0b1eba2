import { defineModule, LLM, OutputGuard, optional } from 'agent-host'
import { Inspector } from './lib/inspector.ts'
import { Rules } from './lib/rules.ts'

export default defineModule({
  name: 'OutputGuard',
  description: "Blocks, redacts or holds an agent's answer before the client sees it.",
  provides: [OutputGuard],
  uses: { llm: optional(LLM) },
  config: Rules,
  create: ({ llm }, config, context) => {
    const inspector = new Inspector(config, llm, context)
    return { checkOutput: (text, run) => inspector.judge(text, [], run) }
  },
})
