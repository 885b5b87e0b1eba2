import { readEventStream } from '../read-event-stream.ts'
import { type Column, isVaried } from './column.ts'
import { forgetVariants, variantIdOf } from './variants-client.ts'

const PATH = 'compat'
const KEY = 'agent-host.responses-key'
const KEY_SAVED = 'agent-host.key-saved'

/** Part of the events of a response that the page reads. */
export interface ResponseEvent {
  readonly type: string
  readonly sequence_number: number
  readonly delta?: string
  readonly item?: { readonly type: string; readonly result?: string }
  readonly response?: { readonly error?: { readonly message: string } | null }
}

/** Key of the responses adapter, kept as long as the window. */
export function readKey(): string {
  return sessionStorage.getItem(KEY) ?? ''
}

export function saveKey(key: string): void {
  sessionStorage.setItem(KEY, key)
  dispatchEvent(new Event(KEY_SAVED))
}

/** Calls a listener when a key was saved. @returns a function that ends it */
export function onKeySaved(listener: () => void): () => void {
  addEventListener(KEY_SAVED, listener)
  return () => removeEventListener(KEY_SAVED, listener)
}

interface Question {
  readonly column: Column
  /** A text, or items. */
  readonly input: string | readonly object[]
  readonly previousId: string | undefined
}

/**
 * Calls an agent in the background: the run continues when the page is left, and can be joined by its id.
 *
 * @returns the id of the response
 */
export async function askAgent(question: Question): Promise<string> {
  try {
    return await sendQuestion(question)
  } catch (failure) {
    const isForgotten = failure instanceof RefusedRequest && failure.status === 400 && isVaried(question.column)
    if (!isForgotten) throw failure
    forgetVariants()
    return sendQuestion(question)
  }
}

async function sendQuestion({ column, input, previousId }: Question): Promise<string> {
  const { model, temperature, options } = column
  const variant = await variantIdOf(column)
  const body = {
    ...options,
    model,
    ...(temperature === undefined ? {} : { temperature }),
    input,
    background: true,
    ...(previousId ? { previous_response_id: previousId } : {}),
  }
  const headers: Record<string, string> = variant === undefined ? {} : { 'x-agent-variant': variant }
  const response = await requestCompat('/responses', { method: 'POST', body: JSON.stringify(body), headers })
  return ((await response.json()) as { id: string }).id
}

/** Reads the question of a response again, with the bytes of its files. */
export async function readInput(id: string): Promise<readonly object[]> {
  const response = await requestCompat(`/responses/${id}/input_items?order=asc&limit=100`)
  return ((await response.json()) as { data: object[] }).data
}

export async function cancelResponse(id: string): Promise<void> {
  await requestCompat(`/responses/${id}/cancel`, { method: 'POST', body: '{}' })
}

/** Reads the events of a response after one of them: those that were, and then those that come. */
export async function* readEvents(id: string, after: number, signal: AbortSignal): AsyncGenerator<ResponseEvent> {
  const { body } = await requestCompat(`/responses/${id}?stream=true&starting_after=${after}`, { signal })
  if (!body) return
  for await (const { data } of readEventStream(body)) {
    if (data === '[DONE]') return
    yield JSON.parse(data) as ResponseEvent
  }
}

/** Id of the run behind a response. */
export function runIdOf(responseId: string): string {
  return responseId.replace(/^resp_/, '')
}

/** Error answer of the server. */
export class RefusedRequest extends Error {
  readonly status: number

  constructor(status: number, detail: string | undefined) {
    super(detail ?? `The server answered ${status}.`)
    this.status = status
  }
}

/**
 * Sends a request to the responses adapter, with its key.
 *
 * @throws RefusedRequest with the server's answer
 */
export async function requestCompat(path: string, init: RequestInit = {}): Promise<Response> {
  const key = readKey()
  const headers = {
    ...init.headers,
    ...(init.body ? { 'content-type': 'application/json' } : {}),
    ...(key ? { authorization: `Bearer ${key}` } : {}),
  }
  const response = await fetch(PATH + path, { ...init, headers })
  if (response.ok) return response
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
  throw new RefusedRequest(response.status, detail)
}
