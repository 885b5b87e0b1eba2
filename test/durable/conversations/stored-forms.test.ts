// Everything that is stored or handed out as JSON is read back as it was: messages, answers, items and calls, with bytes and addresses.
import { expect } from 'chai'
import fc from 'fast-check'
import { DecodedUrl } from '../../../src/data-url.ts'
import {
  loadTurn,
  makeTurn,
  newBytesOf,
  readAnswers,
  readMessages,
  type StoredTurn,
  turnChange,
  withAnswers,
  withOutcome,
} from '../../../src/durable/conversations/conversation-tree.ts'
import { liftItems, parseItems } from '../../../src/durable/conversations/item-bytes.ts'
import { writeBytes } from '../../../src/durable/conversations/turn-bytes.ts'
import { readTrail } from '../../../src/durable/runs/read-trail.ts'
import { toResultStep } from '../../../src/durable/runs/steps.ts'
import type { Attachment, Message } from '../../../src/protocols/message.ts'
import type { ToolResult } from '../../../src/protocols/tool-provider.ts'
import { fromMessageJson, toMessageJson } from '../../../src/run/attachment-json.ts'
import type { RunAnswer } from '../../../src/run/state/run-answer.ts'
import { fromAnswerJson, toAnswerJson } from '../../../src/run/waiting/answer-json.ts'
import type { PendingAnswer, PendingCall } from '../../../src/run/waiting/pending-call.ts'
import { RunWaiting } from '../../../src/run/waiting/run-waiting.ts'
import { withKeptAnswers } from '../../../src/run/waiting/settle-answers.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'
import { decodeValue, encodeToWrite, type JsonValue } from '../../../src/tape/file/tape-values.ts'
import { anyCharacter } from '../../support/any-character.ts'

const text = fc.string({ unit: anyCharacter, maxLength: 20 })
/** As JSON has it: without the values that it reads back as others. */
const json = fc.jsonValue({ maxDepth: 3 }).map((value): unknown => JSON.parse(JSON.stringify(value)))
const fields = fc.dictionary(text, json, { maxKeys: 3 })
const metadata = fc.dictionary(fc.constantFrom('anthropic', 'openai'), fields, { maxKeys: 2 })

const few = fc.uint8Array({ maxLength: 40 })
/** Around the sizes from which bytes have rows of their own, and more than one of them. */
const many = fc
  .tuple(fc.constantFrom(48 * 1024, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 150_000), fc.nat(255))
  .map(([size, first]) => Uint8Array.from({ length: size }, (_, index) => (first + index * 7) % 256))
const bytes = fc.oneof({ weight: 5, arbitrary: few }, { weight: 1, arbitrary: many })
const url = fc.oneof(
  fc.webUrl().map((href) => new URL(href)),
  text.map((path) => new URL(`data:text/plain,${encodeURIComponent(path)}`)),
)

const attachment: fc.Arbitrary<Attachment> = fc.record(
  {
    mediaType: fc.constantFrom('image/png', 'audio/wav', 'application/pdf'),
    data: fc.oneof(bytes, url),
    name: text,
    detail: fc.constantFrom('low', 'high'),
  },
  { requiredKeys: ['mediaType', 'data'] },
)
const attachments = fc.array(attachment, { maxLength: 3 })

const call = fc.record(
  {
    id: text,
    vendorId: text,
    name: text,
    arguments: fields,
    providerMetadata: metadata,
    held: fc.record({ by: text, reason: text, reply: text }),
  },
  { requiredKeys: ['id', 'name', 'arguments'] },
)
const decision = fc.constantFrom('approve', 'reject', 'edit')
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('system'), content: text }),
  fc.record({ role: fc.constant('user'), content: text, attachments }, { requiredKeys: ['role', 'content'] }),
  fc.record(
    {
      role: fc.constant('assistant'),
      content: text,
      phase: fc.constantFrom('commentary', 'final_answer'),
      reasoning: fc.array(fc.record({ text, providerMetadata: metadata }, { requiredKeys: ['text'] }), {
        maxLength: 2,
      }),
      toolCalls: fc.array(call, { maxLength: 2 }),
      attachments,
      providerMetadata: metadata,
    },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record(
    {
      role: fc.constant('tool'),
      content: text,
      toolCallId: text,
      attachments,
      isError: fc.boolean(),
      decisions: fc.array(
        fc.record({ name: text, decision, by: text, at: fc.nat() }, { requiredKeys: ['name', 'decision', 'by'] }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ['role', 'content', 'toolCallId'] },
  ),
) as fc.Arbitrary<Message>
const messages = fc.array(message, { maxLength: 4 })

const result: fc.Arbitrary<ToolResult> = fc.record(
  { text, data: json, attachments, isError: fc.boolean() },
  { requiredKeys: ['text'] },
)
const answer: fc.Arbitrary<PendingAnswer> = fc.oneof(
  fc.record({ callId: text, kind: fc.constant('client_tool'), result }),
  fc.record(
    {
      callId: text,
      kind: fc.constant('approval'),
      decision,
      reason: text,
      arguments: fields,
      digest: text,
      by: text,
      at: fc.nat(),
    },
    { requiredKeys: ['callId', 'kind', 'decision'] },
  ),
  fc.record({ callId: text, kind: fc.constant('question'), answers: fc.array(json, { maxLength: 3 }) }),
) as fc.Arbitrary<PendingAnswer>
const answers = fc.array(answer, { minLength: 1, maxLength: 3 })

const head = fc.constantFrom('data:image/png;base64,', 'data:;base64,', 'data:audio/wav;name="$&";base64,')
const item = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    json,
    fc.tuple(head, bytes).map(([before, data]) => new DecodedUrl(before, data)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
})).value
const items = fc.array(item, { maxLength: 3 })

/** Answer of a run that nobody follows. */
const UNHEARD = { trail: { find: () => undefined }, notify: () => {} } as unknown as RunAnswer

const RUN = 'run_01a21967-af4c-7000-aa6e-35dba7200000'

describe('stored forms', () => {
  it('of a turn: its messages, what its run adds, and the answers with which it goes on', async () => {
    await check([messages, messages, answers], async ([before, added, given]) => {
      const store = await KeyvStore.open(new Map())
      const turn = withAnswers(makeTurn(RUN, 1, before, undefined), given)
      const asked = await stored(store, turn)
      expect(asked.messages).to.deep.equal(plain(before))
      expect(asked.answers).to.deep.equal(plain(given))
      const ended = await stored(store, withOutcome(turn, { messages: added, pending: [] }))
      expect(ended.messages).to.deep.equal(plain([...before, ...added]))
      expect(ended.answers).to.equal(undefined)
    })
  })

  it('of messages and answers beside a turn, as JSON', async () => {
    await check([messages, answers], ([said, given]) => {
      expect(plain(copyOf(said.map(toMessageJson)).map(fromMessageJson))).to.deep.equal(plain(said))
      expect(plain(copyOf(given.map(toAnswerJson)).map(fromAnswerJson))).to.deep.equal(plain(given))
    })
  })

  it('of answers that are kept beside an open call', async () => {
    await check([answers, answer], async ([kept, last]) => {
      const callOf = ({ callId, kind }: PendingAnswer): PendingCall => ({ callId, kind, name: 'f', arguments: {} })
      const waiting = new RunWaiting(RUN, { answers: kept }, UNHEARD, undefined)
      for (const each of kept) waiting.keep(callOf(each), each)
      waiting.begin({ ...callOf(last), callId: 'open' })
      const turn = makeTurn(RUN, 1, [], undefined, waiting.pendingWithDecisions())
      const { pending = [] } = (await stored(await KeyvStore.open(new Map()), turn)).turn
      expect(plain(withKeptAnswers({ pending, answers: [last] }).answers)).to.deep.equal(plain([last, ...kept]))
    })
  })

  it('of items, with the data URLs that the client sent', async () => {
    await check([items], async ([sent]) => {
      const store = await KeyvStore.open(new Map())
      const lifted = liftItems(RUN, sent, [])
      await writeBytes(store, lifted.bytes)
      const read = await parseItems(store, RUN, JSON.stringify(lifted.items))
      expect(plain(read)).to.deep.equal(plain(sent))
      expect(JSON.stringify(read)).to.equal(JSON.stringify(sent))
    })
  })

  it('of results in the steps of a run, as the trail has them', async () => {
    await check([result], ([{ text: content, attachments: files = [], isError = false }]) => {
      const begun = { call: { id: 'c', name: 'f', arguments: {}, moduleId: 'm', answer: { index: 0 } } }
      const steps = copyOf([begun, toResultStep('c', { text: content, attachments: files, isError })])
      const [, last] = readTrail(steps)
      expect(plain(last)).to.deep.equal(
        plain({
          role: 'tool',
          content,
          toolCallId: 'c',
          ...(files.length > 0 && { attachments: files }),
          ...(isError && { isError }),
        }),
      )
    })
  })

  it('of messages and answers on a tape', async () => {
    await check([messages, answers], ([said, given]) => {
      const kept = new Map<string, Uint8Array>()
      const written = copyOf(encodeToWrite({ said, given }, (hash, data) => kept.set(hash, data)))
      const read = decodeValue(written as JsonValue, (hash) => kept.get(hash) as Uint8Array)
      expect(plain(read)).to.deep.equal(plain({ said, given }))
    })
  })
})

async function check<T extends unknown[]>(
  values: { [Index in keyof T]: fc.Arbitrary<T[Index]> },
  predicate: (values: T) => void | Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.tuple(...values), async (all) => predicate(all as T)),
    { numRuns: 150 },
  )
}

/** Stores a turn after its bytes, as a run does, and reads it. */
async function stored(store: KeyvStore, turn: StoredTurn) {
  await writeBytes(store, newBytesOf(turn))
  await store.commit([turnChange(turn)])
  const read = (await loadTurn(store, RUN)) as StoredTurn
  const answers = await readAnswers(store, read)
  return { turn: read, messages: plain(await readMessages(store, read)), answers: answers && plain(answers) }
}

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

/** The same value with bytes and addresses as texts, which are quick to compare. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`
  if (value instanceof URL) return `url ${value.href}`
  if (value instanceof DecodedUrl) return [value.head, plain(value.data)]
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]))
}
