/** The body of an answer as it comes: what has arrived so far, and when it ends or is left. */
export interface ReadBody {
  text(): string
  readonly done: Promise<void>
}

export function readAsItComes(reply: globalThis.Response): ReadBody {
  let text = ''
  const read = async () => {
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) text += piece.value
  }
  return { text: () => text, done: read().catch(() => {}) }
}
