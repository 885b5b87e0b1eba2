import { type Message, type Run, Type } from 'agent-host'

/** Config of a module that begins its conversations with a prompt of its own. */
export const systemPrompt = Type.String({
  default: '',
  variant: true,
  description: 'Instructions at the start of every conversation.',
})

/** Returns the first messages of a conversation: these prompts, and the instructions of the run. */
export function systemMessages(prompts: readonly string[], run: Run): Message[] {
  const content = [...prompts, run.instructions ?? ''].filter((text) => text !== '').join('\n\n')
  return content === '' ? [] : [{ role: 'system', content }]
}
