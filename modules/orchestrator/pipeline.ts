import { defineModule, many, Response, type Run, TextMessageHandler, Type } from 'agent-host'
import { costLimits, withinBudget } from './lib/budget.ts'
import { OutputCapture } from './lib/output-capture.ts'

export default defineModule({
  name: 'Pipeline',
  description: 'Runs handlers in sequence: each receives the answer of the one before.',
  provides: [TextMessageHandler],
  uses: { handlers: many(TextMessageHandler), stage: OutputCapture, response: Response },
  attachments: 'model',
  config: Type.Object({
    hand_on: Type.String({
      default: '{text}',
      variant: true,
      description:
        "Message for each handler but the first: {text} is the previous answer, {question} the user's message.",
    }),
    ...costLimits,
  }),
  create: ({ handlers, stage, response }, { hand_on, ...limits }) => ({
    handleText: (question, run) =>
      withinBudget(limits, run, response, async (budget) => {
        let text = question
        for (const [index, handler] of handlers.entries()) {
          budget.check()
          if (index > 0) {
            if (text.trim() === '')
              throw new Error(
                `Handler ${index} of ${handlers.length} of the pipeline has answered nothing, so there is nothing to hand on.`,
              )
            run.reportProgress(`${index} of ${handlers.length} done`)
            text = fillIn(hand_on, text, question)
          }
          const isLast = index === handlers.length - 1
          text = await answerOf(handler, text, !isLast, forStage(budget.run, index === 0, isLast), stage)
        }
      }),
  }),
})

/** The client's choice of a tool is for the first handler, the form of the answer for the last. */
function forStage(run: Run, isFirst: boolean, isLast: boolean): Run {
  const { toolChoice, responseSchema, ...others } = run.requestOptions
  return run.with({
    requestOptions: {
      ...others,
      ...(isFirst && toolChoice !== undefined ? { toolChoice } : {}),
      ...(isLast && responseSchema !== undefined ? { responseSchema } : {}),
    },
  })
}

async function answerOf(
  handler: TextMessageHandler,
  text: string,
  isCaptured: boolean,
  run: Run,
  stage: OutputCapture,
): Promise<string> {
  stage.begin(text, isCaptured)
  let answer = ''
  try {
    await handler.handleText(text, run)
  } finally {
    answer = stage.end()
  }
  return answer
}

/** In one pass: inserted texts may contain braces. */
function fillIn(template: string, text: string, question: string): string {
  return template.replace(/\{(text|question)\}/g, (_, name) => (name === 'text' ? text : question))
}
