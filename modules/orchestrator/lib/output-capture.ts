import { defineProtocol } from 'agent-host'

/** Capture of a pipeline's output: decides the input of each handler, and keeps its output. */
export interface OutputCapture {
  /** From here on the conversation ends with `text`, as if the user had said it. Texts are kept back when `isCaptured`. */
  begin(text: string, isCaptured: boolean): void
  /** Undoes the last `begin`. Returns the captured text. */
  end(): string
}
export const OutputCapture = defineProtocol<OutputCapture>('OutputCapture', ['begin', 'end'])
