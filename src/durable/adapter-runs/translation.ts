import type { LoadedConversation } from '../conversations/conversation-tree.ts'
import type { NextIdentity } from '../decisions/next-run.ts'
import type { DurableRuns } from '../durable-runs.ts'

/** Part of the responses adapter in runs of its own that go on without a request: only it reads their facts and items. */
export interface Translation {
  /** Facts of the run that continues a waiting one. */
  readonly continueFacts: (waiting: object, next: NextIdentity) => object
  /** Leaves items that clients removed out of a conversation. */
  readonly leaveOut: (
    runs: DurableRuns,
    id: string,
    conversation: LoadedConversation,
    removed: ReadonlySet<string>,
  ) => Promise<LoadedConversation>
}
