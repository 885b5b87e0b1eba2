import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { DecodedUrl } from '../../../src/data-url.ts'
import { Approvals } from '../../../src/durable/approvals/approvals.ts'
import { ConversationStore } from '../../../src/durable/conversations/conversation-store.ts'
import { makeTurn, type StoredTurn } from '../../../src/durable/conversations/conversation-tree.ts'
import { RunQueue } from '../../../src/durable/queue/run-queue.ts'
import { sweepBytes } from '../../../src/durable/retention/retention.ts'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import { RunStore } from '../../../src/durable/runs/run-store.ts'
import { nowSeconds } from '../../../src/now-seconds.ts'
import type { Message } from '../../../src/protocols/message.ts'
import { CheckedStore } from '../../../src/store/checked-store.ts'
import { KeyvStore } from '../../../src/store/keyv/keyv-store.ts'
import { checkRecords, copyStore } from '../../../src/store/walk-store.ts'
import { makeFacts } from '../../support/run-facts.ts'

const PICTURE = randomBytes(1024 * 1024 + 1)
const ANSWER = randomBytes(200_000)
const HEAD = 'data:image/png;base64,'

describe('bytes of a turn', () => {
  const ids = new RunIds('run_')

  async function open(map = new Map<string, unknown>()) {
    const records = new CheckedStore(await KeyvStore.open(map))
    const store = new RunStore(records, new Approvals(records), new ConversationStore(records))
    /** Stores a run whose message and item hold the same picture, and that answers with another. */
    const create = async (previous?: StoredTurn, picture: Uint8Array = PICTURE) => {
      const id = ids.next()
      const turn = makeTurn(id, nowSeconds(), [asked(picture)], previous)
      const items = [{ content: [{ image_url: new DecodedUrl(HEAD, picture) }] }]
      const earlier = previous ? ((await store.conversation(previous.response_id))?.messages ?? []) : []
      const draft = { id, facts: makeFacts(), items, makeTurn: () => turn, earlier, idempotency: undefined }
      const messages: Message[] = [{ role: 'assistant', content: 'here', attachments: [attachmentOf(ANSWER)] }]
      const isCreated = await store.create(draft, ['here', { end: 'completed', at: nowSeconds() }], {
        messages,
        pending: [],
        waiting: [],
      })
      return isCreated ? id : undefined
    }
    const conversation = async (id: string) => (await store.conversation(id))?.messages.map(picturesOf)
    const itemsOf = async (id: string) => {
      const run = await store.get(id)
      return run && store.items(run, 0, run.inputs)
    }
    const rows = () => records.entries({ prefix: '', limit: 1_000_000 })
    const bytesRows = () => records.list({ prefix: 'bytes:', limit: 1_000_000 })
    return { map, records, store, create, conversation, itemsOf, rows, bytesRows }
  }

  const turnOf = async ({ store }: Awaited<ReturnType<typeof open>>, id: string) =>
    (await store.conversation(id))?.last as StoredTurn

  it('are stored once, in short rows, and given back to turns and items', async () => {
    const opened = await open()
    const id = (await opened.create()) as string
    const rows = await opened.rows()
    expect(Math.max(...rows.map(([, value]) => value.length))).to.be.at.most(64 * 1024 + 2)
    const stored = rows.reduce((sum, [, value]) => sum + value.length, 0)
    expect(stored / (PICTURE.length + ANSWER.length)).to.be.within(1.3, 1.4)
    expect(await opened.conversation(id)).to.deep.equal([[PICTURE], [ANSWER]])
    const sent = JSON.stringify([{ content: [{ image_url: HEAD + PICTURE.toString('base64') }] }])
    expect(JSON.stringify(await opened.itemsOf(id))).to.equal(sent)
  })

  it('go with their turn: when the run is deleted and no other continues it', async () => {
    const opened = await open()
    const first = (await opened.create()) as string
    const second = (await opened.create(await turnOf(opened, first))) as string
    await opened.store.delete(first)
    expect(await opened.conversation(second)).to.have.length(4)
    await opened.store.delete(second)
    expect(await opened.rows()).to.deep.equal([])
  })

  it('become those of a turn whose predecessor was deleted meanwhile', async () => {
    const opened = await open()
    const first = (await opened.create()) as string
    const previous = await turnOf(opened, first)
    const { records } = opened
    const commit = records.commit.bind(records)
    let isDeleted = false
    records.commit = async (changes, guards, notify) => {
      const isDue = !isDeleted && changes.some(([key]) => key.startsWith('turn:'))
      isDeleted ||= isDue
      if (isDue) await opened.store.delete(first)
      return commit(changes, guards, notify)
    }
    const second = (await opened.create(previous)) as string
    records.commit = commit
    expect(await opened.conversation(second)).to.deep.equal([[PICTURE], [ANSWER], [PICTURE], [ANSWER]])
    expect((await opened.bytesRows()).every((key) => key.startsWith(`bytes:${second}:`))).to.equal(true)
  })

  it('are never missing from a turn that is stored, wherever the store fails', async () => {
    for (let commits = 0, isThrough = false; !isThrough; commits++) {
      const { map, records, create } = await open()
      const commit = records.commit.bind(records)
      let left = commits
      records.commit = (...change) => {
        if (left-- <= 0) throw new Error('The backend has died.')
        return commit(...change)
      }
      isThrough = await create().then(
        () => true,
        () => false,
      )
      const later = await open(map)
      const [id] = await later.store.list({ limit: 10 })
      expect(id === undefined, `${commits}`).to.equal(!isThrough)
      if (id !== undefined) expect(await later.conversation(id)).to.deep.equal([[PICTURE], [ANSWER]])
      const missing = await sweepBytes(later.records, new Set())
      expect(missing.size, `${commits}`).to.equal(isThrough || commits === 0 ? 0 : 1)
      // One look leaves them: their turn may be about to be stored.
      if (missing.size > 0) expect(await later.bytesRows()).to.not.deep.equal([])
      await sweepBytes(later.records, missing)
      expect((await later.bytesRows()).length > 0, `${commits}`).to.equal(isThrough)
    }
  })

  it('are not part of a queued run: it has them in the turns', async () => {
    const { records, store, create, conversation } = await open()
    const first = (await create()) as string
    const { last, messages } = (await store.conversation(first)) ?? expect.fail('It is stored.')
    const id = ids.next()
    const turn = makeTurn(id, nowSeconds(), [asked(ANSWER)], last)
    const draft = { id, facts: makeFacts(), items: [], makeTurn: () => turn, earlier: messages, idempotency: undefined }
    const queue = new RunQueue(records, 10)
    await store.enqueue(draft, queue.enqueueChanges(id, makeFacts()))
    const [row = ''] = await records.get([`response:${id}`])
    expect(row.length).to.be.below(300)
    expect(await conversation(id)).to.deep.equal([[PICTURE], [ANSWER], [ANSWER]])
  })

  for (const [title, isEarly] of [
    ['stay for a run of the queue when the turn that has them is deleted', false],
    ['are those of a run of the queue if the turn that has them was deleted meanwhile', true],
  ] as const) {
    it(title, async () => {
      const { records, store, create, rows, conversation } = await open()
      const first = (await create()) as string
      const { last, messages } = (await store.conversation(first)) ?? expect.fail('It is stored.')
      const id = ids.next()
      const turn = makeTurn(id, nowSeconds(), [{ role: 'user', content: 'more' }], last)
      const draft = {
        id,
        facts: makeFacts(),
        items: [],
        makeTurn: () => turn,
        earlier: messages,
        idempotency: undefined,
      }
      if (isEarly) await store.delete(first)
      await store.enqueue(draft, new RunQueue(records, 10).enqueueChanges(id, makeFacts()))
      if (!isEarly) await store.delete(first)
      expect(Math.max(...(await rows()).map(([, value]) => value.length))).to.be.at.most(64 * 1024 + 2)
      expect(await conversation(id)).to.deep.equal([[PICTURE], [ANSWER], []])
    })
  }

  it('are not those of another run, whatever an item says', async () => {
    const opened = await open()
    await opened.create()
    const [key = ''] = await opened.bytesRows()
    const forged = { content: `${key.slice(0, key.lastIndexOf(':'))}:${PICTURE.length}:${HEAD}` }
    const id = ids.next()
    const items = [forged, { content: new DecodedUrl(HEAD, ANSWER) }]
    const turn = makeTurn(id, nowSeconds(), [{ role: 'user', content: 'hi' }], undefined)
    await opened.store.create(
      { id, facts: makeFacts(), items, makeTurn: () => turn, earlier: [], idempotency: undefined },
      [],
    )
    expect(await opened.itemsOf(id)).to.deep.equal(items)
  })

  it('are an error of their turn when rows are missing', async () => {
    const opened = await open()
    const id = (await opened.create()) as string
    const [, second = ''] = await opened.bytesRows()
    await opened.records.commit([[second, undefined]])
    const error = await opened.store.conversation(id).catch(({ code }) => code)
    expect(error).to.equal('RECORD_UNREADABLE')
  })

  it('are copied to other stores, and are valid records', async () => {
    const opened = await open()
    const id = (await opened.create()) as string
    const other = await open()
    await copyStore(opened.records, other.records)
    expect(await other.conversation(id)).to.deep.equal([[PICTURE], [ANSWER]])
    const { counts, damaged } = await checkRecords(other.records)
    expect([counts.get('bytes'), damaged]).to.deep.equal([27, []])
  })
})

function attachmentOf(data: Uint8Array) {
  return { mediaType: 'image/png', data }
}

function asked(picture: Uint8Array): Message {
  return { role: 'user', content: 'look', attachments: [attachmentOf(picture)] }
}

function picturesOf(message: Message): unknown[] {
  return 'attachments' in message ? (message.attachments ?? []).map(({ data }) => data) : []
}
