import type { LLM, LLMPart, LLMRequest, Run } from 'agent-host'

export interface FakeLLM extends LLM {
  readonly requests: LLMRequest[]
  readonly runs: Run[]
}

/** A model that gives these parts, one set a request; an error among them is thrown, a promise waited for. */
export function fakeLLM(...answers: readonly (readonly (LLMPart | Error | Promise<unknown>)[])[]): FakeLLM {
  const requests: LLMRequest[] = []
  const runs: Run[] = []
  return {
    requests,
    runs,
    async *generate(request, run) {
      requests.push(request)
      runs.push(run)
      for (const part of answers[Math.min(requests.length, answers.length) - 1] ?? []) {
        if (part instanceof Error) throw part
        if (part instanceof Promise) await part
        else {
          run.signal.throwIfAborted()
          yield part
        }
      }
    },
  }
}

/** Words as a model says them, and the end. */
export const saying = (...words: string[]): LLMPart[] => [
  ...words.map((text) => ({ type: 'text' as const, text })),
  { type: 'finish', reason: 'stop' },
]
