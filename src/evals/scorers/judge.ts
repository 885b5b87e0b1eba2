import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { compileSchema } from '../../definition/compile-schema.ts'
import { hasCode } from '../../errors.ts'
import { JSON_OBJECT, object, optional, requireGiven, TEXT } from '../../given.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Scorer } from '../scorer.ts'
import { parseFenced } from './parse-fenced.ts'

/** Model that judges, and by what. */
export interface JudgeOptions {
  /** Reference of any module of the project or the library that provides `LLM`, as agent files have it: `llm/openai`. */
  readonly llm: string
  /** Config of that module. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Description of a good answer, in a sentence. Left out: one that answers the question, and says what the expected answer says. */
  readonly criteria?: string
}

/** Answer of the module `evals/judge`. */
const RULING = Type.Object({
  reason: Type.String(),
  verdict: Type.Enum(['pass', 'partly', 'fail'], { type: 'string' }),
})

const SCORES: Readonly<Record<Static<typeof RULING>['verdict'], number>> = { pass: 1, partly: 0.5, fail: 0 }
const OPTIONS = object({ llm: TEXT, config: optional(JSON_OBJECT), criteria: optional(TEXT) })
const SHOWN_CHARS = 200

/** Has a model judge the answer. Its prompt is that of the module `evals/judge`, which can be ejected. */
export function judge(options: JudgeOptions): Scorer {
  requireGiven(OPTIONS, options, 'options')
  const { llm, config = {}, criteria } = options
  const agent = {
    id: '',
    modules: [
      { id: 'llm', module: llm, config },
      { id: 'judge', module: 'evals/judge', config: criteria === undefined ? {} : { criteria } },
    ],
  }
  agent.id = `judge-${hash('sha256', JSON.stringify(agent)).slice(0, 16)}`
  const ruling = compileSchema(RULING)
  return async ({ input, output, expected, host, signal }) => {
    await register(host, agent)
    const question = JSON.stringify({ input, output, expected })
    const { text } = await host.run(agent.id, question, { signal })
    const answer = parseFenced(text)
    if (!ruling.matches(answer)) throw new Error(`The judge answered without a verdict: ${text.slice(0, SHOWN_CHARS)}`)
    const { verdict, reason } = answer as Static<typeof RULING>
    return { name: 'judge', score: SCORES[verdict], metadata: { verdict, reason } }
  }
}

/** Several cases are scored at once, and the first of them registers. */
async function register(host: AgentHost, agent: { readonly id: string }): Promise<void> {
  if (host.get(agent.id)) return
  try {
    await host.register(agent)
  } catch (error) {
    if (!hasCode(error, 'AGENT_DUPLICATE')) throw error
  }
}
