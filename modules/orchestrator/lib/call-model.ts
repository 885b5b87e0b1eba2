import type { FinishReason, LLM, LLMRequest, Run, ToolCall } from 'agent-host'
import type { Budget } from './budget.ts'

export interface Answer {
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/**
 * One answer of the model, its usage and limits reported to the run.
 *
 * @param onText gets the text as it comes; `false` ends the answer there
 */
export async function callModel(
  llm: LLM,
  request: LLMRequest,
  budget: Budget,
  onText: (piece: string) => undefined | false | Promise<undefined | false> = () => undefined,
): Promise<Answer> {
  const { run } = budget
  const calls: ToolCall[] = []
  let text = ''
  let isCounted = false
  for await (const part of llm.generate(request, run)) {
    if (part.type === 'text' && part.text !== '') {
      text += part.text
      if ((await onText(part.text)) === false) break
    } else if (part.type === 'tool_call') calls.push(part.call)
    else if (part.type === 'usage') {
      isCounted = true
      run.addUsage(part.usage)
    } else if (part.type === 'finish') markCutOff(part.reason, run)
  }
  if (!isCounted) budget.estimate([...request.messages.map(({ content }) => content), text])
  return { text, calls }
}

/** The model's own limits, by the names that the responses API has for them. */
function markCutOff(reason: FinishReason, run: Run): void {
  if (reason === 'length') run.markIncomplete('max_output_tokens')
  else if (reason === 'content_filter') run.markIncomplete('content_filter')
}
