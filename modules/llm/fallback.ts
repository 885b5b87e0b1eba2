import {
  defineModule,
  LLM,
  type LLMPart,
  type LLMRequest,
  many,
  messageOf,
  type Run,
  raceAbort,
  Type,
} from 'agent-host'
import { IdleTimeout, LONGEST_TIMER } from './lib/idle-timeout.ts'
import { noAnswer } from './lib/no-answer.ts'

export default defineModule({
  name: 'FallbackLLM',
  description: 'Tries several models in order until one answers.',
  provides: [LLM],
  uses: { llms: many(LLM) },
  attachments: 'model',
  config: Type.Object({
    timeout: Type.Number({
      exclusiveMinimum: 0,
      maximum: LONGEST_TIMER,
      default: 30,
      description: 'Seconds until the first part of an answer; then the next model is tried.',
    }),
  }),
  create: ({ llms }, { timeout }, { log, moduleId }) => {
    if (llms.length === 0) throw new Error(`Module '${moduleId}' (llm/fallback) has no model to ask.`)
    return {
      async *generate(request, run) {
        run.signal.throwIfAborted()
        const failures: unknown[] = []
        for (const llm of llms) {
          let hasBegun = false
          try {
            for await (const part of answerOf(llm, request, run, timeout)) {
              hasBegun = true
              yield part
            }
            return
          } catch (error) {
            run.signal.throwIfAborted()
            // Text that was sent cannot be taken back.
            if (hasBegun) throw error
            failures.push(error)
            log.warn(`model ${failures.length} of ${llms.length} failed: ${messageOf(error)}`)
          }
        }
        throw noAnswer(failures)
      },
    }
  },
})

async function* answerOf(llm: LLM, request: LLMRequest, run: Run, timeout: number): AsyncGenerator<LLMPart> {
  const silence = new IdleTimeout({ timeout, part_timeout: timeout }, run.signal)
  const parts = llm.generate(request, run.with({ signal: silence.signal }))[Symbol.asyncIterator]()
  try {
    silence.begin()
    let next = await raceAbort(parts.next(), silence.signal)
    silence.end()
    if (next.done) throw new Error('It said nothing at all.')
    for (; !next.done; next = await parts.next()) yield next.value
  } catch (error) {
    throw silence.spent ? new Error(`It said nothing for ${timeout} s.`, { cause: error }) : error
  } finally {
    silence.end()
    const closed = parts.return?.()
    // One that does not look at its signal may never come to its end.
    if (silence.signal.aborted) closed?.catch(() => {})
    else await closed
  }
}
