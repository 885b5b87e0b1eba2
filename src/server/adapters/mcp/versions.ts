import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../../json.ts'

/** The versions of MCP with a handshake, oldest first. */
const PLAIN_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
/** Version offered to clients that ask for an unknown one. */
const FALLBACK_VERSION = '2024-11-05'
/** Clients of later versions name theirs in a header (Streamable HTTP transport of 2025-06-18). */
const UNNAMED_VERSION = '2025-03-26'

/** The version without a handshake: each request describes its client. */
export const SDK_VERSION = '2026-07-28'
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** The version to speak with a client that wants this one. */
export function negotiate(wanted: string): string {
  return PLAIN_VERSIONS.includes(wanted) ? wanted : FALLBACK_VERSION
}

/** The version that the header of a plain request names, as far as it is known here. */
export function readVersion(header: unknown): string {
  return typeof header === 'string' && PLAIN_VERSIONS.includes(header) ? header : UNNAMED_VERSION
}

/** Returns true for a message of a version without a handshake, by its own content or by its header. */
export function isForSdk(headers: IncomingHttpHeaders, message: unknown): boolean {
  if (headers['mcp-protocol-version'] === SDK_VERSION) return true
  if (!isObject(message) || !isObject(message.params)) return false
  const { _meta } = message.params
  return isObject(_meta) && VERSION_KEY in _meta
}
