import { Bubble, FoldedBubble } from '../../components/bubble.tsx'
import type { ModelExchange } from './model-exchange.ts'

/** Messages to a model and its answer, as bubbles. */
export function Exchange({ exchange: { messages, answer, reasoning } }: { exchange: ModelExchange }) {
  return (
    <div class="exchange">
      {messages.map((message, index) => (
        <Bubble key={index} message={message} />
      ))}
      {reasoning !== '' && (
        <FoldedBubble name="reasoning" text={reasoning}>
          <p class="pre">{reasoning}</p>
        </FoldedBubble>
      )}
      {(answer.content !== '' || answer.toolCalls.length > 0) && <Bubble message={answer} isAnswer />}
    </div>
  )
}
