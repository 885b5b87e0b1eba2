import { randomUUID } from 'node:crypto'
import { deferred, settlesWithin } from '../async.ts'
import { encodeBase64 } from '../base64.ts'
import type { RecordStore } from '../store/record-store.ts'
import { readTapePiece, type TapePiece } from '../tape/file/tape-pieces.ts'
import type { EventsPage, EventsQuery, ForgetQuery } from '../trace/run-index/trace-query.ts'
import type { Traces } from '../trace/traces.ts'
import { type ForgottenHere, forgetHere, type Here } from './forget-here.ts'

/** Question for a piece of the tape of a run. */
export interface TapeQuestion {
  readonly tapeOf: string
  readonly offset: number
  readonly maxBytes: number
}

interface Reply {
  /** Unix time in milliseconds. */
  readonly at: number
}

/** Answer to a question for events; `page` is null when the server has none of that run any more. */
export interface EventsReply extends Reply {
  readonly page: EventsPage | null
}

/** Answer to a question for a tape; `piece` is null when the server has none of that run. */
export interface TapeReply extends Reply {
  readonly piece: (Omit<TapePiece, 'bytes'> & { readonly base64: string }) | null
}

/** Question that has a server forget a user. */
interface ForgetQuestion {
  readonly forget: ForgetQuery
}

/** Answer to it: what the server has removed. */
export interface ForgetReply extends Reply, ForgottenHere {}

type Question = EventsQuery | TapeQuestion | ForgetQuestion

/** Parts of a server that answer. */
export type Answering = Here & { readonly traces: Traces }

/** Time that a server gets to answer. */
const ANSWER_MS = 5000
/** Interval at which the answer is looked for without a notice. */
const LOOK_MS = 250
const MAX_QUESTIONS = 20
/** Size of an answer in characters, above which the rest is left to the next question. */
const MAX_REPLY = 1024 * 1024

/** Prefix of the records in which servers answer. */
export const REPLIES = 'trace-reply:'

/** Topic, and beginning of the keys, of the questions for a server. */
function questionsFor(serverId: string): string {
  return `trace-question:${serverId}`
}

/** Asks another server for events of a run. @returns undefined when it does not answer in time */
export function askEvents(store: RecordStore, serverId: string, query: EventsQuery): Promise<EventsReply | undefined> {
  return ask<EventsReply>(store, serverId, query)
}

/** Asks another server for a piece of a tape. @returns undefined when it does not answer in time */
export function askTape(store: RecordStore, serverId: string, asked: TapeQuestion): Promise<TapeReply | undefined> {
  return ask<TapeReply>(store, serverId, asked)
}

/** Has another server forget a user. @returns undefined when it does not answer in time */
export function askForget(store: RecordStore, serverId: string, forget: ForgetQuery): Promise<ForgetReply | undefined> {
  return ask<ForgetReply>(store, serverId, { forget })
}

/** Asks through the store: servers need not reach each other. */
async function ask<R extends Reply>(store: RecordStore, serverId: string, asked: Question): Promise<R | undefined> {
  const id = randomUUID()
  const [question, reply] = [`${questionsFor(serverId)}:${id}`, REPLIES + id]
  let notice = deferred()
  const unwatch = store.watch([reply], () => notice.resolve())
  try {
    await store.commit([[question, JSON.stringify(asked)]], {}, [questionsFor(serverId)])
    for (const end = performance.now() + ANSWER_MS; performance.now() < end; ) {
      await settlesWithin(notice.promise, LOOK_MS)
      notice = deferred()
      const [text] = await store.get([reply])
      if (text !== undefined) return JSON.parse(text) as R
    }
    return undefined
  } finally {
    unwatch()
    await store.commit([
      [question, undefined],
      [reply, undefined],
    ])
  }
}

/** Answers the questions for this server from its traces and tapes. Returns a function that ends it. */
export function answerQuestions(
  store: RecordStore,
  answering: Answering,
  onError: (error: unknown) => void,
): () => void {
  const topic = questionsFor(store.serverId)
  let work = Promise.resolve()
  const answerAll = async () => {
    for (const [question, asked] of await store.entries({ prefix: `${topic}:`, limit: MAX_QUESTIONS })) {
      const reply = REPLIES + question.slice(topic.length + 1)
      try {
        const text = JSON.stringify(await replyTo(JSON.parse(asked) as Question, answering))
        const changes = [[question, undefined] as const, [reply, text] as const]
        // A server that gave up has taken its question away.
        await store.commit(changes, { present: [question] }, [reply])
      } catch (error) {
        onError(error)
        // Left there, it would hold up all that come after it.
        await store.commit([[question, undefined]])
      }
    }
  }
  return store.watch([topic], () => {
    work = work.then(answerAll).catch(onError)
  })
}

async function replyTo(asked: Question, answering: Answering): Promise<Reply> {
  if ('forget' in asked) return { at: Date.now(), ...(await forgetHere(answering, asked.forget)) }
  return 'tapeOf' in asked ? replyWithTape(asked, answering.projectDir) : replyWithEvents(asked, answering.traces)
}

async function replyWithTape({ tapeOf, ...range }: TapeQuestion, projectDir: string): Promise<TapeReply> {
  const piece = await readTapePiece(projectDir, tapeOf, range)
  if (!piece) return { at: Date.now(), piece: null }
  const { bytes, ...facts } = piece
  return { at: Date.now(), piece: { ...facts, base64: encodeBase64(bytes) } }
}

async function replyWithEvents(query: EventsQuery, traces: Traces): Promise<EventsReply> {
  const run = await traces.query('run', query.runId)
  const page = await traces.query('events', query)
  return { at: Date.now(), page: run && !page.isElsewhere ? cut(page) : null }
}

/** The first event always goes: the next question begins after it. */
function cut(page: EventsPage): EventsPage {
  let size = 0
  const end = page.events.findIndex(({ line }, index) => {
    size += line.length
    return index > 0 && size > MAX_REPLY
  })
  return end === -1 ? page : { ...page, events: page.events.slice(0, end), hasMore: true }
}
