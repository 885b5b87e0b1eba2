import { decodeUri } from '../../../../decode-uri.ts'

/** Place of a resource. */
export type ResourcePlace =
  | {
      readonly kind: 'memory'
      readonly agentId: string
      readonly moduleId: string
      readonly entryId: string | undefined
      readonly user: string | undefined
    }
  /** Kept by this adapter. */
  | { readonly kind: 'conversation'; readonly agentId: string; readonly conversationId: string }
  /** Kept by a module of the agent. */
  | {
      readonly kind: 'module-conversation'
      readonly agentId: string
      readonly moduleId: string
      readonly conversationId: string
      readonly user: string | undefined
    }

const URI = /^agent-host:\/\/([^/?]+)\/(memory|conversations)\/([^/?]+)(?:\/([^/?]+))?(?:\?user=([^&]*))?$/

export function resourceUri(agentId: string, kind: 'memory' | 'conversations', ...rest: readonly string[]): string {
  return `agent-host://${[agentId, kind, ...rest].map(encodeURIComponent).join('/')}`
}

/** Reads a URI; undefined for a foreign one. */
export function readResourceUri(uri: string): ResourcePlace | undefined {
  const parts = URI.exec(uri)
    ?.slice(1)
    .map((part) => part && decodeUri(part))
  if (!parts) return undefined
  const [agentId = '', kind, first = '', second, user] = parts
  if (kind === 'memory') return { kind, agentId, moduleId: first, entryId: second, user }
  if (second === undefined) return { kind: 'conversation', agentId, conversationId: first }
  return { kind: 'module-conversation', agentId, moduleId: first, conversationId: second, user }
}
