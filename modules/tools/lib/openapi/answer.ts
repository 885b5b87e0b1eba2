import { parseJson, type ToolResult } from 'agent-host'

/** Bytes of text that a model gets. */
const MAX_TEXT_BYTES = 64 * 1024

/** Turns the answer of a server into the result of a tool: errors too, with their status. */
export async function readAnswer(response: Response): Promise<ToolResult> {
  const { status, headers } = response
  const location = headers.get('location')
  if (status >= 300 && status < 400 && location !== null) {
    await response.body?.cancel()
    // Servers often repeat the query, in which a secret may be.
    const [address] = location.split(/[?#]/)
    return { text: `HTTP ${status}: the server redirects to ${address}. Redirects are not followed.`, isError: true }
  }
  const mediaType = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.ok && bytes.length > 0 && !isText(mediaType, bytes)) {
    const type = mediaType || 'application/octet-stream'
    const text = `The answer is a file of ${bytes.length} bytes, ${type}.`
    return { text, attachments: [{ mediaType: type, data: bytes, ...nameOf(headers) }] }
  }
  const text = cut(bytes)
  if (!response.ok) return { text: `HTTP ${status}${text === '' ? '' : `: ${text}`}`, isError: true }
  if (text === '') return { text: `HTTP ${status}, without a body.` }
  const data = /[/+]json$/.test(mediaType) && bytes.length <= MAX_TEXT_BYTES ? parseJson(text) : undefined
  return data === undefined ? { text } : { text, data }
}

function isText(mediaType: string, bytes: Buffer): boolean {
  if (/^text\/|[/+](json|xml|yaml)$|javascript$|x-www-form-urlencoded$/.test(mediaType)) return true
  return mediaType === '' && !bytes.includes(0)
}

function cut(bytes: Buffer): string {
  if (bytes.length <= MAX_TEXT_BYTES) return bytes.toString()
  // A character that is cut through is left out.
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: true })
  return `${text}\n\n[cut: the first ${MAX_TEXT_BYTES} of ${bytes.length} bytes]`
}

function nameOf(headers: Headers): { name?: string } {
  const [, name] = /filename="?([^";]+)"?/i.exec(headers.get('content-disposition') ?? '') ?? []
  return name === undefined ? {} : { name }
}
