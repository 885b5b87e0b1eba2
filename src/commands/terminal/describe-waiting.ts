import type { Approval } from '../../wire/approval.ts'
import { formatCall } from './format-call.ts'
import { oneLine } from './one-line.ts'

/** Describes what an agent waits for, to stand after its name: the question of a tool, or the call that needs an approval. */
export function describeWaiting({
  kind,
  name,
  arguments: args,
  message,
}: Pick<Approval, 'kind' | 'name' | 'arguments'> & { readonly message?: string | null | undefined }): string {
  return kind === 'question' ? oneLine(`asks: ${message}`) : `wants to call ${formatCall(name, args)}`
}
