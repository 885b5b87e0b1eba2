import { defineProtocol } from 'agent-host'

/** Where the handlers of a pipeline stand: it decides what they are asked, and keeps what they say. */
export interface Stage {
  /** From here on the conversation ends with `text`, as if the user had said it. Texts are kept back when `isHeld`. */
  enter(text: string, isHeld: boolean): void
  /** Back to where it was before the last `enter`. Answers the text that was kept. */
  leave(): string
}
export const Stage = defineProtocol<Stage>('Stage', ['enter', 'leave'])
