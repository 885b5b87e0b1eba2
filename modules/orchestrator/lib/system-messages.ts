import type { Message, Run } from 'agent-host'

/** Returns the first messages of a conversation: these prompts, and the instructions of the run. */
export function systemMessages(prompts: readonly string[], run: Run): Message[] {
  const content = [...prompts, run.instructions ?? ''].filter((text) => text !== '').join('\n\n')
  return content === '' ? [] : [{ role: 'system', content }]
}
